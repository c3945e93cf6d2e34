"""What a caller hands to the door and gets back: `Message`, `Request`, `Reply`, `ToolCall`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from synth.llm.tolerant import clean_text

if TYPE_CHECKING:
    from synth.models import Agent

ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class ToolCall:
    """One call a model asks for. `arguments` is the text it wrote, JSON or not."""

    id: str
    name: str
    arguments: str = ""

    def as_json(self) -> dict[str, str]:
        """`{id, name, arguments}`."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}

    def as_openai(self) -> dict[str, Any]:
        """The call as an assistant message carries it."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True)
class Message:
    """One message. `parts` are (layer name, text) pairs whose texts, joined by a blank line, are `text`.

    Without parts the whole text is recorded as one part. A prompt's `message()` fills both. An assistant's
    message may carry `tool_calls`; each is answered by a `tool` message with its `tool_call_id`.
    """

    role: str
    text: str
    parts: tuple[tuple[str, str], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role {self.role!r} is none of {', '.join(ROLES)}")
        object.__setattr__(self, "text", clean_text(self.text))
        parts = self.parts or (("", self.text),)
        object.__setattr__(self, "parts", tuple((layer, clean_text(text)) for layer, text in parts))

    def record(self) -> list[tuple[str, str]]:
        """(layer, text) of everything this message sends, its tool calls last."""
        if not self.tool_calls:
            return list(self.parts)
        calls = json.dumps([call.as_json() for call in self.tool_calls], ensure_ascii=False)
        return [*self.parts, ("tool_calls", clean_text(calls))]

    def as_openai(self) -> dict[str, Any]:
        """The message as hosts take it."""
        body: dict[str, Any] = {"role": self.role, "content": self.text}
        if self.tool_calls:
            body["tool_calls"] = [call.as_openai() for call in self.tool_calls]
        if self.tool_call_id:
            body["tool_call_id"] = self.tool_call_id
        return body


@dataclass(frozen=True)
class Request:
    """One call. `session` binds it to its work (`cycle:12`); `max_tokens=None` and
    `timeout_s=None` take the server's.

    `journal_key` lets work that is resumed after a crash find the reply it already paid for: an earlier
    successful call with the same key and the same messages answers without a new one. `fingerprint` names
    the prompt layers; left empty, it is taken from the messages. `tools` are OpenAI tool objects, offered
    to the model; `tool_choice="none"` shows them and forbids their use. `json_schema` says what JSON the
    reply is read as: a hint that the local model keeps to and hosts elsewhere are not sent.
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
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: str | dict[str, Any] = ""
    json_schema: dict[str, Any] | None = None

    def record(self) -> list[tuple[str, str, str, str]]:
        """(role, layer, sha256, text) of every part in the order sent; the tools come last."""
        rows = [(m.role, layer, text) for m in self.messages for layer, text in m.record()]
        if self.tools:
            rows.append(("tools", "tools", clean_text(json.dumps(list(self.tools), ensure_ascii=False))))
        return [(role, layer, sha256(text), text) for role, layer, text in rows]

    def messages_sha256(self) -> str:
        """Names exactly what is sent: roles and texts in order, calls and tools where there are any."""
        lines = [f"{m.role} {sha256(m.text)}{_calls_mark(m)}" for m in self.messages]
        if self.tools:
            lines.append(f"tools {self.tool_choice} {sha256(json.dumps(list(self.tools), sort_keys=True))}")
        return sha256("\n".join(lines))

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
    tool_calls: tuple[ToolCall, ...] = ()


def _calls_mark(message: Message) -> str:
    """Blank for a message without tools in it, so that older hashes stay what they were."""
    if not message.tool_calls and not message.tool_call_id:
        return ""
    calls = [call.as_json() for call in message.tool_calls]
    return f" {sha256(json.dumps([message.tool_call_id, calls]))}"


def sha256(text: str) -> str:
    """Hex SHA-256 of the UTF-8 text."""
    return hashlib.sha256(text.encode()).hexdigest()
