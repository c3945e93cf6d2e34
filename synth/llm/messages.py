"""What a caller hands to the door and gets back: `Message`, `Request`, `Reply`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from synth.llm.tolerant import clean_text

if TYPE_CHECKING:
    from synth.models import Agent

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class Message:
    """One message. `parts` are (layer name, text) pairs whose texts, joined by a blank line, are `text`.

    Without parts the whole text is recorded as one part. A prompt's `message()` fills both.
    """

    role: str
    text: str
    parts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role {self.role!r} is none of {', '.join(ROLES)}")
        object.__setattr__(self, "text", clean_text(self.text))
        parts = self.parts or (("", self.text),)
        object.__setattr__(self, "parts", tuple((layer, clean_text(text)) for layer, text in parts))


@dataclass(frozen=True)
class Request:
    """One call. `session` binds it to its work (`cycle:12`); `max_tokens=None` and
    `timeout_s=None` take the server's.

    `journal_key` lets work that is resumed after a crash find the reply it already paid for: an earlier
    successful call with the same key and the same messages answers without a new one. `fingerprint` names
    the prompt layers; left empty, it is taken from the messages.
    """

    purpose: str
    messages: Sequence[Message]
    agent: Agent | None = None
    session: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    journal_key: str = ""
    fingerprint: str = ""
    timeout_s: float | None = None

    def record(self) -> list[tuple[str, str, str, str]]:
        """(role, layer, sha256, text) of every part in the order sent."""
        return [(m.role, layer, sha256(text), text) for m in self.messages for layer, text in m.parts]

    def messages_sha256(self) -> str:
        """Names exactly what is sent: roles and texts in order."""
        return sha256("\n".join(f"{m.role} {sha256(m.text)}" for m in self.messages))

    def with_instruction(self, text: str, *, journal_suffix: str) -> Request:
        """The same request with its last message made longer (strict hosts want roles to alternate)."""
        *head, last = self.messages
        longer = replace(last, text=f"{last.text}\n\n{text}", parts=(*last.parts, ("", text)))
        key = f"{self.journal_key}{journal_suffix}" if self.journal_key else ""
        return replace(self, messages=[*head, longer], journal_key=key)


@dataclass(frozen=True)
class Reply:
    """What the model wrote. `finish_reason` is `stop`, `length`, `tool_calls` or the host's own word.

    `is_replayed` is True when the journal answered and no call was made.
    """

    text: str
    call_id: UUID
    finish_reason: str
    model: str
    fingerprint: str
    n_prompt_tokens: int
    n_completion_tokens: int
    ms: int = 0
    is_replayed: bool = False


def sha256(text: str) -> str:
    """Hex SHA-256 of the UTF-8 text."""
    return hashlib.sha256(text.encode()).hexdigest()
