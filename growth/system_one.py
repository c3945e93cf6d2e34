"""System 1 beside growth's own rules: it classifies when its mode is on, and only looks in audit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import structlog

from growth.classifier import (
    MAX_LINE_CHARS,
    MAX_MESSAGE_CHARS,
    MAX_PROPOSAL_CHARS,
    Asked,
    Classifier,
    Kind,
    Verdict,
    cut,
)
from growth.judgments import DECISION, GROUNDED
from judgments.services import asking, labels, later, settings
from judgments.typed import ChoiceAnswer

if TYPE_CHECKING:
    from synth.models import Agent

# Below this the language model is asked: a wrong yes changes who the agent is.
MIN_P = 0.8
MAX_EVIDENCE = 20
MAX_EVIDENCE_CHARS = 400
log = structlog.get_logger(__name__)


class SystemOneFirst:
    """Mode on: a sure answer of System 1 counts, everything else goes on to `behind`. Audit: asked beside."""

    def __init__(self, behind: Classifier) -> None:
        self.behind = behind

    def classify(self, asked: Asked) -> Verdict:
        """The verdict; trouble with System 1 is as if it weren't there."""
        mode = settings.mode_of(DECISION)
        if mode == "on" and (sure := _sure(asked)) is not None:
            return sure
        verdict = self.behind.classify(asked)
        if mode == "audit":
            _look(asked, verdict)
        return verdict


def _sure(asked: Asked) -> Verdict | None:
    result = asking.judge(DECISION, _state(asked), session=asked.session or None, agent=asked.agent)
    answer = result.answer()
    if not isinstance(answer, ChoiceAnswer) or answer.probabilities[answer.choice] < MIN_P:
        return None
    labels.acted(result.run_id, answer.choice, by="chat")
    feedback = asked.message.strip() if answer.choice == "revise" else ""
    return Verdict(cast(Kind, answer.choice), feedback, source="system_one")


def _look(asked: Asked, verdict: Verdict) -> None:
    """Ask beside, and keep what was decided without it."""
    run_id = later.judge_later(DECISION, _state(asked), session=asked.session or None, agent=asked.agent)
    if verdict.kind != "unsure":
        labels.label(run_id, verdict.kind, by=verdict.source, strength="weak")


def _state(asked: Asked) -> dict[str, Any]:
    return {
        "message": cut(asked.message, MAX_MESSAGE_CHARS),
        "last_line": cut(asked.last_line, MAX_LINE_CHARS),
        "proposal": cut(asked.proposal, MAX_PROPOSAL_CHARS),
    }


def look_at_grounding(
    agent: Agent, session: str, line: str, diary: Iterable[str], *, is_abstract: bool
) -> None:
    """Ask whether the diary carries a reflection, beside the guard, which alone decides. Never raises."""
    if settings.mode_of(GROUNDED) == "off":
        return
    evidence = [text[:MAX_EVIDENCE_CHARS] for text in diary][-MAX_EVIDENCE:]
    try:
        run_id = later.judge_later(
            GROUNDED, {"line": line, "evidence": evidence}, session=session, agent=agent
        )
        labels.label(run_id, "abstract" if is_abstract else "grounded", by="guard", strength="weak")
    except Exception:  # noqa: BLE001 - a look beside must not end the reflection
        log.exception("grounding_not_judged", agent=agent.slug)
