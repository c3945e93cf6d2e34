"""How a viewer is told of an answer: the events as bytes. Pure.

One style is the chat's own; the doors of other protocols bring theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from synth.chat import events
from synth.chat.events import Event

# Some clients take these for line ends, though they are none in a stream of events.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


class Style(Protocol):
    """`leave_s` is how long after the last viewer's going a turn is stopped, `reason` what is noted then."""

    @property
    def leave_s(self) -> float: ...

    @property
    def reason(self) -> str: ...

    @property
    def opening(self) -> bytes:
        """What is sent first; may be empty."""

    @property
    def heartbeat(self) -> bytes:
        """What is sent when nothing happens."""

    @property
    def interrupted(self) -> bytes:
        """What is sent where this server ends the stream before the answer has ended; may be empty."""

    def frames(self, event: Event) -> list[bytes]:
        """The writes that tell one event, `resync` included; none for what this style does not tell."""


@dataclass(frozen=True)
class ChatStyle:
    """Server-sent events with an id each; the id of an answer's event names the answer and grows."""

    answer_id: int
    leave_s: float = 4.0
    reason: str = "left"
    opening: bytes = b"retry: 2000\n\n"
    heartbeat: bytes = b": still here\n\n"
    interrupted: bytes = b""  # its clients come back by themselves

    def frames(self, event: Event) -> list[bytes]:
        return [frame(event.name, event.text, events.sse_id(self.answer_id, event.n))]


@lru_cache(maxsize=64)  # the same event goes to many viewers at once
def frame(event: str, data: str, id: int | str | None = None) -> bytes:
    """One server-sent event: LF only, its blank line included. `data` is JSON on one line."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {event}\ndata: {data.translate(_LINE_ENDS)}\n\n".encode()
