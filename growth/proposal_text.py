"""The message that asks a trainer about a proposal, and the notices that follow; pure, no model writes it.

A word diff is shown as `[-gone-]` and `{+new+}`, list changes as `+ c` and `− a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from growth.lists import list_diff
from growth.services.diff import word_diff

MAX_QUOTES = 5
MAX_LIST_LINES = 60
MAX_DIFF_CHARS = 12_000
DECIDE = """\
How to decide:
- In a chat with {agent}: say that you agree, that you do not, or what should be different.
- In the admin site: Growth, proposal {number}. There you can also edit before you approve.
- Over REST: POST /api/growth/proposals/{number}/approve/, …/reject/ or …/revise/ with {{"feedback": "…"}}.
Until then nothing changes."""


@dataclass(frozen=True)
class Facts:
    """What the message is made of. `days` are the first and last day looked back on, where known."""

    number: int
    agent: str
    content: str
    likes: Sequence[str]
    dislikes: Sequence[str]
    base_content: str
    base_likes: Sequence[str]
    base_dislikes: Sequence[str]
    quotes: Sequence[str] = ()
    is_ungrounded: bool = False
    feedback: str = ""
    supersedes: int | None = None
    days: tuple[date | None, date | None] = (None, None)
    expires_at: datetime | None = None


def message(facts: Facts) -> tuple[str, str]:
    """Title and body of the delivery that asks."""
    name = " ".join(facts.agent.split()) or "An agent"
    blocks = [
        _opening(facts, name),
        f"Proposed reflection:\n\n{facts.content.strip()}",
        _changes(facts),
        "Likes:\n" + "\n".join(list_lines(facts.base_likes, facts.likes)),
        "Dislikes:\n" + "\n".join(list_lines(facts.base_dislikes, facts.dislikes)),
        _why(facts, name),
        DECIDE.format(agent=name, number=facts.number),
        f"It expires on {facts.expires_at:%Y-%m-%d at %H:%M} UTC." if facts.expires_at else "",
    ]
    return f"{name} asks: proposal {facts.number}", "\n\n".join(block for block in blocks if block)


def marked_diff(old: str, new: str) -> str:
    """The word diff as text; blank when the words are the same."""
    runs = word_diff(old, new)
    if all(run["op"] == "equal" for run in runs):
        return ""
    marks = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
    return "".join(f"{marks[run['op']][0]}{run['text']}{marks[run['op']][1]}" for run in runs)


def list_lines(before: Sequence[str], after: Sequence[str], limit: int = MAX_LIST_LINES) -> list[str]:
    """`+ c`, `− a`, or `no changes` when only the order or the case differs; at most `limit` lines."""
    lines = list_diff(before, after).lines()
    return lines if len(lines) <= limit else [*lines[:limit], f"… and {len(lines) - limit} more"]


def stale(agent: str, number: int, by: str) -> tuple[str, str]:
    """What trainers are told when an approval came too late for what it was written against."""
    return (
        f"{agent}: proposal {number} is out of date",
        f"{by} approved proposal {number}, but {agent}'s current reflection or lists had changed since it "
        "was written. Nothing was applied. The next reflection makes a new proposal, or ask for one now.",
    )


def not_rewritten(agent: str, number: int, why: str, is_pending: bool) -> tuple[str, str]:
    """What trainers are told when a revision came to nothing."""
    end = f"Proposal {number} still waits for a decision." if is_pending else "Nothing else changed."
    return f"{agent}: proposal {number} was not rewritten", f"{why} {end}"


def _opening(facts: Facts, name: str) -> str:
    if facts.feedback:
        text = f"{name} has rewritten the reflection as asked (“{_short(facts.feedback, 300)}”)."
    elif facts.days[0] and facts.days[1]:
        text = f"{name} has looked back on {facts.days[0]} to {facts.days[1]} and would like to change."
    else:
        text = f"{name} would like to change."
    if facts.supersedes is not None:
        text += f" This replaces proposal {facts.supersedes}, which can no longer be decided."
    return text + " It is not applied: a trainer decides."


def _changes(facts: Facts) -> str:
    """What is different from the current reflection."""
    if not facts.base_content.strip():
        return "There is no reflection so far; this would be the first."
    found = marked_diff(facts.base_content.strip(), facts.content.strip())
    if not found:
        return "Changes to the current reflection: no changes."
    if len(found) > MAX_DIFF_CHARS:
        found = found[:MAX_DIFF_CHARS] + " …"
    return f"Changes to the current reflection ([-gone-], {{+new+}}):\n\n{found}"


def _why(facts: Facts, name: str) -> str:
    """What it rests on: quotes, or the warning that there are none."""
    lines = [f"“{_short(quote, 200)}”" for quote in dict.fromkeys(facts.quotes) if quote.strip()]
    text = ""
    if lines:
        more = len(lines) - MAX_QUOTES
        lines = lines[:MAX_QUOTES] + ([f"… and {more} more"] if more > 0 else [])
        text = f"Why: it rests on {name}'s diary, among it:\n" + "\n".join(lines)
    else:
        text = f"Why: it was written from {name}'s diary; no sentence names its source."
    if facts.is_ungrounded:
        text += "\nMarked ungrounded: little or nothing of the diary is in the text. Read it twice."
    return text


def _short(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
