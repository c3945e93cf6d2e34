"""How a viewer who came through the OpenAI door is told of an answer."""

from __future__ import annotations

from dataclasses import dataclass

from synth.chat.events import Event
from synth.openai import chunks
from synth.openai.chunks import Teller

INTERRUPTED = "The server ended the stream before the answer was whole; ask again."


@dataclass(frozen=True)
class OpenAiStyle:
    """Chunks. A client that hangs up wants no more of the answer: the turn is stopped within a second."""

    teller: Teller
    leave_s: float = 0.3
    reason: str = "client_gone"
    opening: bytes = b""
    heartbeat: bytes = b": still here\n\n"
    # These clients do not come back by themselves, and would take a plain end for the end of the answer.
    interrupted: bytes = chunks.frame({"error": chunks.error(INTERRUPTED, "unavailable")}) + chunks.DONE

    def frames(self, event: Event) -> list[bytes]:
        """The chunks of one event."""
        return list(self.teller.tell(event.name, event.data))
