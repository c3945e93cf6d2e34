"""A turn's events in the words of the OpenAI API: chunks of a stream, or one completion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DONE = b"data: [DONE]\n\n"
_FINISH = {"cancelled": "stop", "": "stop"}
BETWEEN = "\n\n"
# These clients show no cards, so the person is told in words that they are asked.
_NOTICE = "[Waiting for your approval: {}]"
_NOTICES = re.compile(r"\[Waiting for your approval: [a-z0-9_]*\]")


def without_notices(text: str) -> str:
    """What the agent said, of a text as a client has it."""
    parts = [part.strip() for part in _NOTICES.split(text)]
    return BETWEEN.join(part for part in parts if part)


@dataclass
class Teller:
    """Turns the events of one answer into the chunks of one stream, in order.

    The first chunk says the role and nothing else, no later one says it; exactly one carries a finish reason;
    the usage comes last, without choices, where it was asked for. Words of later rounds follow after a blank
    line.
    """

    answer_id: int
    model: str
    created: int
    wants_usage: bool = False
    n_chars: int = 0
    _begun: bool = False
    _breaks: bool = False
    _told: list[str] = field(default_factory=list)
    _round: str = ""  # words told of the current round
    _before: str = ""  # and of the last one that had any

    def tell(self, event: str, data: Mapping[str, Any]) -> Iterator[bytes]:
        """The frames of one event; nothing for events that OpenAI's clients have no word for."""
        if not self._begun:
            self._begun = True
            yield self._chunk({"role": "assistant", "content": ""})
        if event == "delta":
            yield from self._words(str(data.get("text", "")))
        elif event == "resync":
            content = str(data.get("content", ""))
            if not content.startswith(self._round) and not self._round.startswith(content):
                self._break()  # the words are of a later round, whose beginning was missed
            yield from self._words(self._missing(content))
        elif event == "action":
            self._break()
        elif event == "approval" and (data.get("approval") or {}).get("status") == "pending":
            self._break()
            yield from self._out(_NOTICE.format(data["approval"].get("action", "")))
            self._breaks = True
        elif event == "message.end":
            yield from self._end(data)
        elif event == "error":
            yield frame({"error": error(str(data.get("message", "")), str(data.get("code", "")) or None)})
            yield DONE

    @property
    def text(self) -> str:
        """All words told so far."""
        return "".join(self._told)

    def _break(self) -> None:
        """The round is over; words that follow are another's."""
        self._breaks = bool(self._told)
        if self._round:
            self._before, self._round = self._round, ""

    def _missing(self, content: str) -> str:
        """What was not told yet of the words of a round so far."""
        if not self._round:
            return "" if content == self._before else content
        return content[len(self._round) :] if content.startswith(self._round) else ""

    def _words(self, text: str) -> Iterator[bytes]:
        """Words of the agent."""
        self._round += text
        yield from self._out(text)

    def _out(self, text: str) -> Iterator[bytes]:
        if not text:
            return
        if self._breaks:
            text, self._breaks = BETWEEN + text, False
        self._told.append(text)
        yield self._chunk({"content": text})

    def _end(self, data: Mapping[str, Any]) -> Iterator[bytes]:
        # Whatever was not streamed, or was missed, is told at once.
        yield from self._words(self._missing(str((data.get("message") or {}).get("content", ""))))
        if calls := calls_of(data):
            yield self._chunk({"tool_calls": [{"index": n, **call} for n, call in enumerate(calls)]})
        yield self._chunk({}, finish_of(data))
        if self.wants_usage:
            yield frame({**self._head(), "choices": [], "usage": usage_of(data)})
        yield DONE

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        body: dict[str, Any] = {**self._head(), "choices": [choice]}
        if self.wants_usage:
            body["usage"] = None
        return frame(body)

    def _head(self) -> dict[str, Any]:
        return head(self.answer_id, self.model, self.created, "chat.completion.chunk")


def completion(
    answer_id: int, model: str, created: int, data: Mapping[str, Any], text: str
) -> dict[str, Any]:
    """One whole answer; `data` is that of `message.end`, `text` all the words of the turn."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if calls := calls_of(data):
        message["tool_calls"] = calls
        message["content"] = text or None
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(data)}
    return {
        **head(answer_id, model, created, "chat.completion"),
        "choices": [choice],
        "usage": usage_of(data),
    }


def head(answer_id: int, model: str, created: int, kind: str) -> dict[str, Any]:
    """What every chunk and completion begins with."""
    return {"id": f"chatcmpl-{answer_id}", "object": kind, "created": created, "model": model}


def calls_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of the client's own tools that a turn ended with."""
    return [
        {
            "id": call.get("id", ""),
            "type": "function",
            "function": {"name": call.get("name", ""), "arguments": call.get("arguments") or "{}"},
        }
        for call in data.get("tool_calls") or []
    ]


def finish_of(data: Mapping[str, Any]) -> str:
    """The finish reason in OpenAI's words."""
    reason = str(data.get("finish_reason") or "")
    return _FINISH.get(reason, reason)


def usage_of(data: Mapping[str, Any]) -> dict[str, int]:
    """Tokens of the whole turn."""
    raw = data.get("usage") or {}
    found = {name: int(raw.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")}
    return {**found, "total_tokens": sum(found.values())}


def error(
    message: str, code: str | None = None, param: str | None = None, kind: str = "server_error"
) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    return {"message": message, "type": kind, "param": param, "code": code}


def refusal(status: int, message: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    """The error of an HTTP status."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = "server_error" if status >= 500 else kinds.get(status, "invalid_request_error")
    return error(message, code, param, kind)


def frame(body: Mapping[str, Any]) -> bytes:
    """One event of the stream."""
    return b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
