"""What an ask gives its caller: answers, or the reason there are none; host trouble never raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judgments.typed import Answer, NoulAnswer, ScoreAnswer, to_wire

# Every reason without answers → whether a run is saved for it.
REASONS = {
    "off": False,
    "no_host": False,
    "no_session": False,
    "failed": True,
    "cancelled": True,
    "busy": True,
    "shared_host": True,
}
MODES = ("off", "audit", "on")


@dataclass(frozen=True)
class Result:
    """`answers` by question id, or a `reason` of `REASONS`. `run_id` is None where no run was saved.

    `question_ids` are the ids asked, or that would have been; empty where nobody came to know them.
    """

    mode: str = "off"
    reason: str | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)
    run_id: str | None = None
    question_ids: tuple[str, ...] = ()
    failure: str | None = None

    def __post_init__(self) -> None:
        if (self.reason is None) != bool(self.answers):
            raise ValueError("a result has either answers or a reason")
        if self.reason is not None and self.reason not in REASONS:
            raise ValueError(f"no such reason: {self.reason}")

    @property
    def no_judgment(self) -> bool:
        """True when there are no answers."""
        return not self.answers

    @property
    def audit(self) -> bool:
        """True in mode audit: look, don't act."""
        return self.mode == "audit"

    def answer(self, question: str | None = None) -> Answer | None:
        """One answer; without an id the only one. ValueError when an id is needed to tell them apart."""
        ids = self.question_ids or tuple(self.answers)
        if question is None:
            if len(ids) > 1:
                raise ValueError(f"this judgment has several questions: name one of {', '.join(ids)}")
            question = ids[0] if ids else None
        return None if question is None else self.answers.get(question)

    def p(self, question: str | None = None) -> float | None:
        """The probability of yes of a noul; None for no answer or another type. ValueError as `answer`."""
        found = self.answer(question)
        return found.noul if isinstance(found, NoulAnswer) else None

    def as_json(self) -> dict[str, Any]:
        """The result for REST: answers, p, mode, audit, reason, run_id. `p` is None for several questions."""
        has_one = len(self.question_ids or tuple(self.answers)) <= 1
        answers = {key: _spelled(answer) for key, answer in self.answers.items()}
        return {
            "answers": answers,
            "p": self.p() if has_one else None,
            "mode": self.mode,
            "audit": self.audit,
            "reason": self.reason,
            "run_id": self.run_id,
        }


def _spelled(answer: Answer) -> dict[str, Any]:
    body = to_wire(answer)
    if isinstance(answer, ScoreAnswer):
        body["level"] = answer.level
    if answer.host_confidence is not None:
        body["host_confidence"] = answer.host_confidence
    return body
