"""What a running answer tells its viewers: names, keys, and how an event is written and read.

The events of one answer stand in a Redis stream under the ids `0-1`, `0-2`, …; the same text goes over the
answer's bell. Rows are the truth: everything here may be lost and is worth nothing after the answer's end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.llm.tolerant import clean_text
from synth.net import clients

START = "message.start"
DELTA = "delta"
ACTION = "action"
APPROVAL = "approval"
CHECK_IN = "check_in"
END = "message.end"
ERROR = "error"
RESYNC = "resync"
TERMINAL = frozenset({END, ERROR})

RING = "chat:ring"  # a list: ids of answers to be begun
MAX_KEPT = 20_000  # events of one answer
KEPT_S = 900
ANSWER = 1_000_000  # an SSE id is the answer's id times this, plus n
_ID = re.compile(r"[0-9]{1,16}")


@dataclass(frozen=True)
class Event:
    """One event of an answer. `n` counts from 1 without gaps; `text` is its data as compact JSON."""

    n: int
    name: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The data, read."""
        found = json.loads(self.text)
        return found if isinstance(found, dict) else {}

    @property
    def is_terminal(self) -> bool:
        """Whether nothing follows."""
        return self.name in TERMINAL

    @property
    def fields(self) -> dict[str, str]:
        """The event as an entry of the stream."""
        return {"e": self.name, "d": self.text}

    @property
    def bell(self) -> str:
        """The event as a message of the bell."""
        return f"{self.n} {self.name} {self.text}"

    def sse(self, answer_id: int) -> bytes:
        """The event as one SSE message, its blank line included."""
        return f"id: {sse_id(answer_id, self.n)}\nevent: {self.name}\ndata: {self.text}\n\n".encode()


def encode(data: Mapping[str, Any]) -> str:
    """Compact JSON on one line, all of it valid UTF-8. ValueError for NaN."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    return clean_text(text)


def of_bell(message: str) -> Event | None:
    """The event that a message of the bell carries; None for anything else."""
    n, _, rest = message.partition(" ")
    name, _, text = rest.partition(" ")
    return Event(int(n), name, text) if _ID.fullmatch(n) and name and text else None


def of_entry(entry_id: str, fields: Mapping[str, str]) -> Event:
    """The event of a stream's entry `0-<n>`."""
    return Event(int(entry_id.partition("-")[2]), fields["e"], fields["d"])


def sse_id(answer_id: int, n: int) -> int:
    """The id clients see: it grows and names the answer; below 2^53."""
    return answer_id * ANSWER + n


def parse_sse_id(text: str) -> tuple[int, int] | None:
    """(answer id, n) of an id clients send back; None for anything that is not one."""
    return divmod(int(text), ANSWER) if _ID.fullmatch(text.strip()) else None


def stream_key(answer_id: int) -> str:
    """The Redis stream of an answer's events."""
    return f"chat:events:{answer_id}"


def bell_channel(answer_id: int) -> str:
    """The Redis channel on which they are told at once."""
    return clients.channel(f"chat:bell:{answer_id}")


def stop_channel() -> str:
    """The Redis channel of the ids of answers to be stopped."""
    return clients.channel("chat:stop")


def viewers_key(answer_id: int) -> str:
    """The sorted set of an answer's viewers, by the second their lease ends."""
    return f"chat:viewers:{answer_id}"
