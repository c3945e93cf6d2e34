"""The `input` and `instructions` of the OpenAI dialect as plain texts of our wire. Pure.

A string stays one. One user message of nothing but text becomes that text, so both ways of asking the same
get the same answer. A conversation becomes an array of `{role, content}`, tool calls and outputs in their
places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judgments.wire_errors import Detail, detail

Loc = tuple[str | int, ...]
_ROLES = ("user", "developer", "system", "assistant")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_TEXT_OF = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def read_input(found: Any) -> tuple[Any, list[Detail]]:
    """The state, and what is wrong with the input."""
    loc: Loc = ("input",)
    if isinstance(found, str):
        return found, []
    if not isinstance(found, list) or not found:
        return None, [detail(loc, "Input should be a string or a list of items", "text_type")]
    items: list[dict[str, Any]] = []
    problems: list[Detail] = []
    for n, entry in enumerate(found):
        item, wrong = _item(entry, (*loc, n))
        problems += wrong
        items.append(item)
    if len(items) == 1 and items[0].get("role") == "user" and isinstance(items[0].get("content"), str):
        return items[0]["content"], problems
    return items, problems


def read_content(found: Any, loc: Loc) -> tuple[Any, list[Detail]]:
    """A string, or a list of parts: one text when all are text, else a list of texts and JSON values."""
    if isinstance(found, str):
        return found, []
    if not isinstance(found, list) or not found:
        return None, [detail(loc, "Input should be a string or a list of parts", "text_type")]
    parts: list[Any] = []
    problems: list[Detail] = []
    for n, part in enumerate(found):
        value, wrong = _part(part, (*loc, n))
        problems += wrong
        parts.append(value)
    if all(isinstance(part, str) for part in parts):
        return "\n".join(parts), problems
    return parts, problems


def _item(entry: Any, loc: Loc) -> tuple[dict[str, Any], list[Detail]]:
    if not isinstance(entry, Mapping):
        return {}, [detail(loc, "Input should be a valid dictionary", "dict_type")]
    kind = entry.get("type", "message")
    if kind == "message":
        role = entry.get("role")
        if role not in _ROLES:
            return {}, [detail((*loc, "role"), f"Expected one of {', '.join(_ROLES)}", "literal_error")]
        content, problems = read_content(entry.get("content"), (*loc, "content"))
        return {"role": role, "content": content}, problems
    if kind in _OUTPUTS:
        content, problems = read_content(entry.get("output"), (*loc, "output"))
        return {"role": "tool", "content": content}, problems
    if isinstance(kind, str) and kind in _CALLS:
        name, text = entry.get("name"), entry.get(_CALLS[kind])
        if not isinstance(name, str) or not isinstance(text, str):
            return {}, [detail(loc, f"A {kind} needs a name and {_CALLS[kind]}", "missing")]
        return {"role": "assistant", "call": {"name": name, "arguments": text}}, []
    return {}, [detail((*loc, "type"), "This kind of item is not read here", "union_tag_invalid")]


def _part(part: Any, loc: Loc) -> tuple[Any, list[Detail]]:
    if not isinstance(part, Mapping):
        return "", [detail(loc, "Input should be a valid dictionary", "dict_type")]
    kind = part.get("type")
    if kind == "input_image":
        return "", [detail(loc, "Text only: images are not read here", "text_only")]
    if kind == "input_json":
        data = part.get("data")
        if isinstance(data, dict | list):
            return data, []
        return "", [detail((*loc, "data"), "Input should be an object or an array", "text_type")]
    field = _TEXT_OF.get(kind) if isinstance(kind, str) else None
    if field is None:
        return "", [detail((*loc, "type"), "Expected 'input_text' or 'input_json'", "union_tag_invalid")]
    text = part.get(field)
    if not isinstance(text, str):
        return "", [detail((*loc, field), "Input should be a valid string", "string_type")]
    return text, []
