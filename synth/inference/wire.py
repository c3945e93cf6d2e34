"""What an asker and the worker say to each other: keys, envelopes, replies. Pure.

An ask stands in the list of its priority until the worker takes it; its reply goes to a list of its own that
runs out by itself: pieces of text where its kind is one of `STREAMED`, then the answer or the problem.
Whatever a worker takes and loses by dying is lost; its askers find its name on the ask and no sign of life.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

# Highest first. CHAT is generation that a person waits for; NICE runs only while nothing else waits.
PRIORITIES = ("CHAT", "IMPORTANT", "NICE")
PREFIX = "synth:infer"
ALIVE_KEY = f"{PREFIX}:alive"
ALIVE_S = 4
REPLY_S = 60
BOUND = 256  # asks of one priority that may wait; a flood of them refuses none that matter more
CHARS_PER_TOKEN = 3
STREAMED = frozenset({"generate"})  # kinds answered piece by piece, each ask by itself
MOST = 1e12  # of a deadline or a size: more is no number of ours
MAX_UNREAD = 2_048  # pieces; whoever leaves more unread is gone


def queue_key(priority: str) -> str:
    """The list of asks of one priority."""
    if priority not in PRIORITIES:
        raise ValueError(f"no such priority: {priority}")
    return f"{PREFIX}:queue:{priority}"


def reply_key(ask_id: str) -> str:
    """The list that gets the reply to one ask."""
    return f"{PREFIX}:reply:{ask_id}"


def cancel_key(ask_id: str) -> str:
    """The key whose presence says that nobody wants this ask's answer any more."""
    return f"{PREFIX}:cancel:{ask_id}"


def taken_key(ask_id: str) -> str:
    """The key that holds the name of the worker that took this ask."""
    return f"{PREFIX}:taken:{ask_id}"


def living_key(name: str) -> str:
    """The sign of life of one worker; `ALIVE_KEY` is that of any."""
    return f"{ALIVE_KEY}:{name}"


@dataclass(frozen=True)
class Envelope:
    """One ask in the queue. `deadline` is in epoch seconds; `digest` is the same for identical asks."""

    id: str
    kind: str
    payload: dict[str, Any]
    deadline: float
    digest: str
    size: int

    def dumps(self) -> str:
        """As it stands in the list."""
        return json.dumps(self.__dict__, separators=(",", ":"))


def envelope(ask_id: str, kind: str, payload: dict[str, Any], deadline: float) -> Envelope:
    """An ask ready to be queued. `size` is about how many tokens it holds."""
    body = json.dumps([kind, payload], separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    return Envelope(ask_id, kind, payload, deadline, digest, 1 + len(body) // CHARS_PER_TOKEN)


def read_envelope(raw: str) -> Envelope | None:
    """The ask in a list's entry; None for anything else."""
    try:
        found = Envelope(**json.loads(raw))
    except (ValueError, TypeError, RecursionError):
        return None
    texts, numbers = (found.id, found.kind, found.digest), (found.deadline, found.size)
    is_sound = all(isinstance(one, str) for one in texts) and all(
        isinstance(n, int | float) and abs(n) < MOST for n in numbers
    )
    return found if is_sound and isinstance(found.payload, dict) else None


@dataclass(frozen=True)
class Problem:
    """Why one ask has no answer: a stable `code`, a sentence, and extra numbers where the code has some."""

    code: str
    text: str = ""
    limit: int | None = None
    found: int | None = None


def reply(answer: dict[str, Any] | Problem) -> str:
    """A reply as it stands in its list."""
    return json.dumps({"problem": answer.__dict__} if isinstance(answer, Problem) else {"answer": answer})


def piece(text: str) -> str:
    """Some words of a streamed answer as they stand in the list of the reply."""
    return json.dumps({"piece": text})


def read_reply(raw: str) -> dict[str, Any] | Problem | str:
    """The answer, what kept the worker from one, or words that come before either."""
    try:
        found = json.loads(raw)
        if "piece" in found:
            return str(found["piece"])
        if "problem" in found:
            return Problem(**found["problem"])
        answer: dict[str, Any] = dict(found["answer"])
        return answer
    except (ValueError, TypeError, KeyError, RecursionError):
        return Problem("failed", "The worker's reply cannot be read.")
