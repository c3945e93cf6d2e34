"""Reads what was sent as `apply_growth_proposal`: only clear words decide, everything else asks.

Pure. `approve` takes true/1/yes/on and false/0/no/off as words of any case, trimmed, or real booleans (and
the integers 1 and 0). `revise` takes the same words, or the feedback itself as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from synth.options import FALSE, TRUE

KEYS = frozenset({"approve", "revise", "feedback"})
MAX_FEEDBACK_CHARS = 4_000


class Kind(StrEnum):
    """What a payload asks for. `BARE` is `{}`: an approval only where the trainer's own words said so."""

    APPROVE = "approve"
    BARE = "bare"
    REJECT = "reject"
    REVISE = "revise"
    ASK = "ask"
    REFUSED = "refused"


@dataclass(frozen=True)
class Decision:
    """One read payload. `why` is a sentence for ASK and REFUSED; `feedback` the text of a REVISE."""

    kind: Kind
    why: str = ""
    feedback: str = ""


def read_payload(payload: Any) -> Decision:
    """The decision in a payload; ASK when it is not clear, REFUSED when its shape is wrong."""
    if not isinstance(payload, Mapping):
        return Decision(Kind.REFUSED, "a payload object is needed, if only {}")
    unknown = sorted(str(key) for key in payload if key not in KEYS)
    if unknown:
        return Decision(Kind.REFUSED, f"unknown key {unknown[0]!r}; allowed are approve, revise, feedback")
    feedback = payload.get("feedback")
    if feedback is not None and not isinstance(feedback, str):
        return Decision(Kind.ASK, "feedback must be text")
    return _decide(payload, (feedback or "").strip()[:MAX_FEEDBACK_CHARS])


def _decide(payload: Mapping[str, Any], feedback: str) -> Decision:
    revise, revise_text = _read_revise(payload)
    approve = read_word(payload["approve"]) if "approve" in payload else None
    if "approve" in payload and approve is None:
        return Decision(Kind.ASK, "approve is neither a clear yes nor a clear no")
    if revise is None:
        return Decision(Kind.ASK, "revise is not clear")
    if revise:
        text = revise_text or feedback
        if approve:
            return Decision(Kind.ASK, "approve and revise contradict each other")
        return Decision(Kind.REVISE, feedback=text) if text else Decision(Kind.ASK, "what should change?")
    if approve is None:
        return Decision(Kind.ASK, "feedback without a decision") if feedback else Decision(Kind.BARE)
    return Decision(Kind.APPROVE if approve else Kind.REJECT, feedback=feedback)


def _read_revise(payload: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Whether a revision is asked for (None: unclear) and the feedback given in `revise` itself."""
    if "revise" not in payload:
        return False, ""
    value = payload["revise"]
    word = read_word(value)
    if word is None and isinstance(value, str) and value.strip():
        return True, value.strip()[:MAX_FEEDBACK_CHARS]
    return word, ""


def read_word(value: Any) -> bool | None:
    """True or False for a clear word, else None: null, lists, other numbers, other words decide nothing."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return {0: False, 1: True}.get(value)
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in TRUE else False if word in FALSE else None
    return None
