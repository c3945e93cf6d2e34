"""The tool calls of a chat completion, whole or in a stream's pieces, as hosts really write them. Pure."""

from __future__ import annotations

import json
from typing import Any

from synth.llm.messages import ToolCall
from synth.llm.tolerant import clean_text

MAX_CALLS = 32  # of one reply; the rest is left out
MAX_ARGUMENT_CHARS = 100_000
_MAX_NAME_CHARS = 200


def read_calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls of an assistant message. Arguments given as an object become JSON; the old single
    `function_call` counts as one call; a call without an id gets one, and one without a name is left out.
    """
    raw = message.get("tool_calls")
    items = raw if isinstance(raw, list) else []
    if not items and isinstance(message.get("function_call"), dict):
        items = [{"function": message["function_call"]}]
    found = [_call(item, n) for n, item in enumerate(items[:MAX_CALLS])]
    return _distinct([call for call in found if call is not None])


class CallPieces:
    """Puts the calls of a stream together; each delta names its call by index, if the host counts at all."""

    def __init__(self) -> None:
        self._calls: list[dict[str, str]] = []
        self._at: dict[int, int] = {}  # the host's index: where in `_calls` its newest call stands

    def add(self, delta: dict[str, Any]) -> None:
        """Take in one delta; what is not shaped like a call is passed over."""
        raw = delta.get("tool_calls")
        items = raw if isinstance(raw, list) else []
        if not items and isinstance(delta.get("function_call"), dict):
            items = [{"index": 0, "function": delta["function_call"]}]
        for n, item in enumerate(items):
            if not isinstance(item, dict):
                continue
            function = item.get("function")
            function = function if isinstance(function, dict) else {}
            call = self._call(item.get("index"), n, _text(item.get("id")))
            call["id"] = call["id"] or _text(item.get("id"))
            call["name"] = call["name"] or _text(function.get("name"))
            call["arguments"] += _arguments(function.get("arguments"))

    def _call(self, index: Any, n: int, id: str) -> dict[str, str]:
        """The call a piece belongs to. Some hosts give every call the same index, and an id of its own."""
        index = index if isinstance(index, int) and 0 <= index < MAX_CALLS else n
        at = self._at.get(index)
        is_new = at is None or bool(id and self._calls[at]["id"] and self._calls[at]["id"] != id)
        if at is None or (is_new and len(self._calls) < MAX_CALLS):
            at = self._at[index] = len(self._calls)
            self._calls.append({"id": "", "name": "", "arguments": ""})
        return self._calls[at]

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in their order."""
        first = {at: index for index, at in sorted(self._at.items(), reverse=True)}
        order = sorted(range(len(self._calls)), key=lambda at: (first.get(at, at), at))
        items = [{"id": self._calls[at]["id"], "function": self._calls[at]} for at in order]
        return read_calls({"tool_calls": items})


def _call(item: Any, n: int) -> ToolCall | None:
    if not isinstance(item, dict):
        return None
    function = item.get("function")
    function = function if isinstance(function, dict) else item
    name = clean_text(_text(function.get("name"))).strip()[:_MAX_NAME_CHARS]
    if not name:
        return None
    arguments = clean_text(_arguments(function.get("arguments")))[:MAX_ARGUMENT_CHARS]
    return ToolCall(clean_text(_text(item.get("id")))[:100] or f"call_{n + 1}", name, arguments)


def _distinct(calls: list[ToolCall]) -> tuple[ToolCall, ...]:
    """The same calls, each with an id of its own."""
    seen: set[str] = set()
    found: list[ToolCall] = []
    for n, call in enumerate(calls):
        name, n_tries = call.id, n
        while name in seen:
            n_tries += 1
            name = f"{call.id[:90]}_{n_tries}"
        seen.add(name)
        found.append(ToolCall(name, call.name, call.arguments))
    return tuple(found)


def _arguments(raw: Any) -> str:
    if raw is None:
        return ""
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else ""
