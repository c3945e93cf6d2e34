"""The tokens of a prompt: messages after the model's own chat template."""

from __future__ import annotations

import json
from typing import Any

from synth.llm.marked_calls import OPEN

Messages = list[dict[str, Any]]
MAX_DEPTH = 100  # of a call's arguments


class Unfit(ValueError):
    """Messages that this model's template cannot take; the text says what it refused."""


def takes_tools(tokenizer: Any) -> bool:
    """Whether the template shows tools and has the model write its calls between the marks we read."""
    template = str(tokenizer.get_chat_template())
    return "tools" in template and OPEN in template


def tokens(tokenizer: Any, messages: Messages, tools: list[dict[str, Any]]) -> list[int]:
    """The prompt up to where the model's reply begins. Unfit when the template refuses.

    Marks of the model's own (the end of a message) that people or tools wrote are broken up: as tokens they
    would end their message and begin another.

    A template that knows fewer roles, or wants them to alternate, gets the same texts as two roles.
    """
    if tools and not takes_tools(tokenizer):
        raise Unfit("The chat template of this model takes no tools.")
    marks = _marks(tokenizer)
    # Objects first: a text of JSON may write a mark in escapes.
    told = [_broken_up(_with_objects(message), marks) for message in messages]
    tools = _broken_up(tools, marks)
    failures = []
    for form in (told, in_two_roles(told)):
        try:
            return _applied(tokenizer, form, tools)
        except Exception as error:  # noqa: BLE001 - a template is foreign code
            failures.append(str(error))
    raise Unfit(f"The chat template of this model failed: {failures[-1][:200]}")


def in_two_roles(messages: Messages) -> Messages:
    """Only `user` and `assistant`, in turns, the user first."""
    found: Messages = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        calls = [json.dumps(call["function"]) for call in message.get("tool_calls", ())]
        text = "\n\n".join(filter(None, [message["content"], *calls]))
        if found and found[-1]["role"] == role:
            found[-1]["content"] += f"\n\n{text}"
        else:
            found.append({"role": role, "content": text})
    return found if found and found[0]["role"] == "user" else [{"role": "user", "content": ""}, *found]


def _marks(tokenizer: Any) -> list[str]:
    known = tokenizer.added_tokens_decoder.values()
    return [token.content for token in known if token.special and len(token.content) > 1]


def _broken_up(value: Any, marks: list[str]) -> Any:
    """The same texts, a blank after the first letter of each mark, wherever they stand, also as a name."""
    if isinstance(value, dict):
        return {_broken_up(key, marks): _broken_up(item, marks) for key, item in value.items()}
    if isinstance(value, list):
        return [_broken_up(item, marks) for item in value]
    if isinstance(value, str):
        for mark in marks:
            value = value.replace(mark, f"{mark[0]} {mark[1:]}")
    return value


def _applied(tokenizer: Any, messages: Messages, tools: list[dict[str, Any]]) -> list[int]:
    # As text first: the tokenizer's own way to tokens has changed its shape between versions.
    text: str = tokenizer.apply_chat_template(
        messages, tools=tools or None, add_generation_prompt=True, tokenize=False
    )
    found: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return found


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    """Templates write arguments as JSON themselves: they want objects, the wire has texts."""
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in message["tool_calls"]:
        function = {**call["function"], "arguments": _arguments(call["function"]["arguments"])}
        calls.append({**call, "function": function})
    return {**message, "tool_calls": calls}


def _arguments(text: str) -> Any:
    """The value of a call's arguments; {} for what is no JSON, or nested deeper than templates write."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    level = [found]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level if isinstance(one, dict | list) for inner in _inside(one)]
        if not level:
            return found
    return {}


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value
