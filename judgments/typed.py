"""Typed answers, and the numbers of the wire computed from probabilities alone. Pure.

Confidence is one formula for every host, so that a threshold means the same everywhere: for a choice
(max − 1/n) / (1 − 1/n), 1 where n = 1; for a score with mode k max(0, 1 − Σ pᵢ·|i−k| / D), where
D = (1/n) Σ |i − (n−1)/2| is the spread of a flat answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from judgments.questions import Question

_EQUAL = 1e-6  # the last bits of two equals differ with their places


class Answer:
    """What every answer exposes; parts that its type doesn't have are None, or {} for the maps."""

    if TYPE_CHECKING:  # at run time a part is a field of its type, or found by __getattr__

        @property
        def type(self) -> str: ...
        @property
        def noul(self) -> float | None: ...
        @property
        def choice(self) -> str | None: ...
        @property
        def score(self) -> float | None: ...
        @property
        def level(self) -> Any: ...
        @property
        def legend(self) -> dict[str, Any]: ...
        @property
        def probabilities(self) -> dict[str, float]: ...
        @property
        def confidence(self) -> float | None: ...
        @property
        def host_confidence(self) -> float | None: ...

    else:

        def __getattr__(self, name: str) -> Any:
            if name in ("legend", "probabilities"):
                return {}
            if name in ("noul", "choice", "score", "level", "confidence", "host_confidence"):
                return None
            raise AttributeError(name)


@dataclass(frozen=True)
class NoulAnswer(Answer):
    """`noul` is the probability of yes, 0..1. A noul has no confidence of its own."""

    noul: float
    type: str = "noul"


@dataclass(frozen=True)
class ChoiceAnswer(Answer):
    """`host_confidence` is what the host itself said, beside ours; None where it said nothing."""

    choice: str
    probabilities: dict[str, float]
    confidence: float
    host_confidence: float | None = None
    type: str = "choice"


@dataclass(frozen=True)
class ScoreAnswer(Answer):
    """`score` is Σ i·p in 0..n−1; `legend` and `probabilities` have the keys `"0".."n-1"`."""

    score: float
    legend: dict[str, Any]
    probabilities: dict[str, float]
    confidence: float
    host_confidence: float | None = None
    type: str = "score"

    @property
    def level(self) -> Any:
        """The text of the most likely level; the lower one of two equals."""
        return self.legend[max(self.probabilities, key=self.probabilities.__getitem__)]


def choice_confidence(probabilities: Sequence[float]) -> float:
    """0 for a flat answer, 1 for a certain one."""
    n = len(probabilities)
    return 1.0 if n == 1 else _unit((max(probabilities) - 1 / n) / (1 - 1 / n))


def score_confidence(probabilities: Sequence[float]) -> float:
    """1 when all weight is on one level; levels further from the mode cost more."""
    n = len(probabilities)
    if n == 1:
        return 1.0
    mode = max(range(n), key=probabilities.__getitem__)
    spread = sum(p * abs(i - mode) for i, p in enumerate(probabilities))
    flat = sum(abs(i - (n - 1) / 2) for i in range(n)) / n
    return _unit(1 - spread / flat)


def expected_score(probabilities: Sequence[float]) -> float:
    """Σ i·p."""
    return sum(i * p for i, p in enumerate(probabilities))


def legend(question: Question) -> dict[str, Any]:
    """`{"0": level, ...}` of a score."""
    return {str(n): level for n, level in enumerate(question.criteria)}


def typed_answer(question: Question, numbers: float | Sequence[float]) -> Answer:
    """The answer a reader's numbers mean: p of yes for a noul, else one probability an option, in order.

    ValueError when the numbers don't fit the question. Probabilities must already sum to 1.
    """
    if question.type == "noul":
        if not isinstance(numbers, int | float):
            raise ValueError("a noul is one number")
        return NoulAnswer(_unit(float(numbers)))
    if isinstance(numbers, int | float) or len(numbers) != len(question.options):
        raise ValueError(f"a {question.type} needs {len(question.options)} numbers")
    values = [_unit(float(p)) for p in numbers]
    probabilities = dict(zip(question.options, values, strict=True))
    if question.type == "choice":
        return ChoiceAnswer(likeliest(probabilities), probabilities, choice_confidence(values))
    return ScoreAnswer(expected_score(values), legend(question), probabilities, score_confidence(values))


def likeliest(probabilities: Mapping[str, float]) -> str:
    """The most likely option; of equals the first by name, because their order must not move an answer."""
    least = max(probabilities.values()) - _EQUAL
    return min(name for name, p in probabilities.items() if p >= least)


def renamed(answer: Answer, question: Question) -> Answer:
    """The same answer with the option names and levels of a question that has as many, in their order."""
    if isinstance(answer, ChoiceAnswer):
        names = dict(zip(answer.probabilities, question.options, strict=True))
        found = {names[name]: p for name, p in answer.probabilities.items()}
        return replace(answer, choice=names[answer.choice], probabilities=found)
    return replace(answer, legend=legend(question)) if isinstance(answer, ScoreAnswer) else answer


def to_wire(answer: Answer, extras: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The answer as System One has it. `extras` get the prefix `x_` where they lack it."""
    body: dict[str, Any] = {"type": answer.type}
    if isinstance(answer, NoulAnswer):
        body["noul"] = answer.noul
    elif isinstance(answer, ChoiceAnswer):
        body |= {"choice": answer.choice, "probabilities": answer.probabilities}
        body["confidence"] = answer.confidence
    else:
        body |= {"score": answer.score, "legend": answer.legend, "probabilities": answer.probabilities}
        body["confidence"] = answer.confidence
    return body | prefixed(extras)


def prefixed(extras: Mapping[str, Any] | None) -> dict[str, Any]:
    """The same entries under `x_` names, the only ones the wire leaves to us."""
    return {key if key.startswith("x_") else f"x_{key}": value for key, value in (extras or {}).items()}


def _unit(number: float) -> float:
    return min(1.0, max(0.0, number))
