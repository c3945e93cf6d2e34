"""Hard checks of a host's reply: every asked question answered as the wire has it, or the whole ask fails.

`read_reply` gives typed answers or raises BadAnswer with the one word and a sentence. Confidence is computed
anew from the probabilities; what the host said of it stays beside ours. Fields the wire doesn't have and
answers nobody asked for are ignored. The types and formulas are in `judgments.typed`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from judgments.questions import Ask, Question
from judgments.typed import (
    Answer,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    choice_confidence,
    expected_score,
    legend,
    score_confidence,
    to_wire,
    typed_answer,
)

__all__ = ["Answer", "BadAnswer", "ChoiceAnswer", "NoulAnswer", "ScoreAnswer", "read_reply", "to_wire"]
__all__ += ["read_answers", "read_usage", "typed_answer"]

_SUM = 0.05  # how far a sum may be off for hosts that don't visibly round
_SUM_LIMIT = 0.5  # however coarse the rounding, less than half of the weight says nothing
_ARGMAX = 0.005
_SCORE = 0.02
_EXACT = 1e-7  # float32 values count as rounded


class BadAnswer(Exception):
    """A reply that cannot be used. `word` is `bad_answer`; `text` says what is wrong, in ≤ 200 characters."""

    def __init__(self, text: str, word: str = "bad_answer") -> None:
        super().__init__(text)
        self.word = word
        self.text = text[:200]


def read_reply(ask: Ask, obj: Any) -> dict[str, Answer]:
    """Typed answers by question id, in the order asked. BadAnswer for a reply that breaks one rule."""
    if not isinstance(obj, Mapping):
        raise BadAnswer("The reply is not an object")
    if not isinstance(obj.get("model"), str):
        raise BadAnswer("The reply names no model")
    return read_answers(ask, obj.get("answers"))


def read_answers(ask: Ask, found: Any) -> dict[str, Answer]:
    """The same for the `answers` object alone."""
    if not isinstance(found, Mapping):
        raise BadAnswer("The reply has no answers object")
    return {question.id: _read_answer(question, found) for question in ask.questions}


def read_usage(obj: Any) -> dict[str, int]:
    """The token counts of a reply that are whole numbers of 0 or more; {} where there are none."""
    usage = obj.get("usage") if isinstance(obj, Mapping) else None
    usage = usage if isinstance(usage, Mapping) else {}
    counts = {key: _number(usage.get(key)) for key in ("input_tokens", "output_tokens")}
    return {key: int(n) for key, n in counts.items() if n is not None and n >= 0 and n == int(n)}


def _read_answer(question: Question, found: Mapping[str, Any]) -> Answer:
    answer = found.get(question.id)
    where = f"Answer {question.id[:60]!r}"
    if answer is None:
        raise BadAnswer(f"{where} is missing")
    if not isinstance(answer, Mapping) or answer.get("type") != question.type:
        raise BadAnswer(f"{where} is not of type {question.type}")
    if question.type == "noul":
        return NoulAnswer(_probability(answer.get("noul"), f"{where}: noul"))
    probabilities = _distribution(question, answer.get("probabilities"), where)
    said = answer.get("confidence")
    host_confidence = None if said is None else _probability(said, f"{where}: confidence")
    if question.type == "choice":
        return _choice(answer, probabilities, host_confidence, where)
    return _score(question, answer, probabilities, host_confidence, where)


def _choice(
    answer: Mapping[str, Any], probabilities: dict[str, float], host_confidence: float | None, where: str
) -> ChoiceAnswer:
    choice = answer.get("choice")
    if not isinstance(choice, str) or choice not in probabilities:
        raise BadAnswer(f"{where}: the choice is no option")
    if probabilities[choice] < max(probabilities.values()) - _ARGMAX:
        raise BadAnswer(f"{where}: the choice is not the most likely option")
    confidence = choice_confidence(list(probabilities.values()))
    return ChoiceAnswer(choice, probabilities, confidence, host_confidence)


def _score(
    question: Question,
    answer: Mapping[str, Any],
    probabilities: dict[str, float],
    host_confidence: float | None,
    where: str,
) -> ScoreAnswer:
    values = list(probabilities.values())
    n = len(values)
    score = _number(answer.get("score"))
    if score is None or not 0 <= score <= n - 1 + _ARGMAX:
        raise BadAnswer(f"{where}: the score is not a number in 0..{n - 1}")
    allowed = _SCORE + rounding(values) * (1 + n * (n - 1) / 2)
    if abs(score - expected_score(values)) > allowed:
        raise BadAnswer(f"{where}: the score is not the mean of its probabilities")
    given = answer.get("legend")
    if given is not None and (not isinstance(given, Mapping) or set(given) != set(question.options)):
        raise BadAnswer(f"{where}: the legend's keys are not 0..{n - 1}")
    return ScoreAnswer(score, legend(question), probabilities, score_confidence(values), host_confidence)


def _distribution(question: Question, found: Any, where: str) -> dict[str, float]:
    """Probabilities in the order of the question's options."""
    if not isinstance(found, Mapping):
        raise BadAnswer(f"{where}: no probabilities")
    options = question.options
    if set(found) != set(options):
        raise BadAnswer(f"{where}: the probabilities' keys are not the options")
    values = [_probability(found[name], f"{where}: a probability") for name in options]
    step, total = rounding(values), sum(values)
    over = max(_SUM, sum(value > 0 for value in values) * step)
    under = min(max(_SUM, len(values) * step), _SUM_LIMIT)
    if not 1 - under - _EXACT <= total <= 1 + over + _EXACT:
        raise BadAnswer(f"{where}: the probabilities sum to {total:.3f}")
    return dict(zip(options, values, strict=True))


def rounding(values: list[float]) -> float:
    """Half a unit of the last decimal shown (2 to 6 decimals), 0 for values that are not rounded."""
    for decimals in range(2, 7):
        if all(abs(value - round(value, decimals)) < _EXACT for value in values):
            return float(0.5 / 10**decimals)
    return 0.0


def _probability(value: Any, what: str) -> float:
    number = _number(value)
    if number is None or not 0 <= number <= 1:
        raise BadAnswer(f"{what} is not a number in 0..1")
    return number


def _number(value: Any) -> float | None:
    """A finite number, or None; booleans are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
