"""A chat completion request: read leniently where clients differ, else refused by name.

Shapes: the public OpenAI API reference. Parameters nobody here knows are ignored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from synth.llm.messages import ToolCall
from synth.llm.tolerant import clean_text
from synth.llm.toolcalls import read_calls

PREFIX = "synth/"
MAX_MESSAGES = 2_000
MAX_TOOLS = 128
MAX_TOKENS = 2_000_000_000
_ROLES = {"developer": "system", "function": "tool"}
_KNOWN = frozenset({"system", "user", "assistant", "tool"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class BadRequest(ValueError):
    """A request that could never succeed; `param` names what is wrong, `code` why."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


@dataclass(frozen=True)
class Sent:
    """One message of a client. Images and sounds are refused, so `text` is all of it."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True)
class Asked:
    """A request as read. `system` joins the client's instructions, wherever they stood."""

    slug: str
    messages: tuple[Sent, ...]
    system: str = ""
    is_stream: bool = False
    wants_usage: bool = False
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str | dict[str, Any] = ""
    temperature: float | None = None
    max_tokens: int | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def client(self) -> dict[str, Any]:
        """What the turn keeps of it beside the messages."""
        found = {
            "system": self.system,
            "tools": list(self.tools),
            "tool_choice": self.tool_choice,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        return {name: value for name, value in found.items() if value not in ("", [], None)}


@dataclass(frozen=True)
class Split:
    """The messages before the last answer, that answer (None: there is none), and what is new after it."""

    before: tuple[Sent, ...]
    answer: Sent | None
    new: tuple[Sent, ...]


def read(data: Any) -> Asked:
    """The request in a JSON body; BadRequest names the parameter."""
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object.")
    messages = _messages(data.get("messages"))
    told = _answering([message for message in messages if message.role != "system"])
    if not told or told[-1].role not in ("user", "tool"):
        raise BadRequest("The last message must come from the user or from a tool.", "messages")
    tools, choice = _tools(data)
    if data.get("n") not in (None, 1) or isinstance(data.get("n"), bool):
        raise BadRequest("Only one choice can be had at a time.", "n")
    options = data.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise BadRequest("An object is needed.", "stream_options")
    return Asked(
        slug=slug_of(data.get("model")),
        messages=told,
        system="\n\n".join(m.text for m in messages if m.role == "system" and m.text.strip()),
        is_stream=_flag(data.get("stream"), "stream"),
        wants_usage=_flag((options or {}).get("include_usage"), "stream_options.include_usage"),
        tools=() if choice == "none" else tools,
        tool_choice="" if choice == "none" else choice,
        temperature=_number(data.get("temperature"), "temperature", 0, 2),
        max_tokens=_limit(data),
        raw=data,
    )


def slug_of(model: Any) -> str:
    """The agent a model name stands for; case and the prefix are the client's choice."""
    if model is None:
        raise BadRequest("A model is needed.", "model")
    if not isinstance(model, str):
        raise BadRequest("A text is needed.", "model")
    name = model.strip()
    return name[len(PREFIX) :] if name.lower().startswith(PREFIX) else name


def split(messages: Sequence[Sent]) -> Split:
    """Where what the client says anew begins."""
    last = max((n for n, message in enumerate(messages) if message.role == "assistant"), default=-1)
    if last < 0:
        return Split((), None, tuple(messages))
    return Split(tuple(messages[:last]), messages[last], tuple(messages[last + 1 :]))


def prefix_sha256(messages: Sequence[Sent]) -> str:
    """Names a history: the same whatever the client did to outer white space and to ids of calls."""
    lines = [[m.role, m.text.strip(), [[c.name, c.arguments.strip()] for c in m.calls]] for m in messages]
    return hashlib.sha256(json.dumps(lines, ensure_ascii=True).encode()).hexdigest()


def without_calls_of(messages: Sequence[Sent], names: Collection[str]) -> tuple[Sent, ...]:
    """The messages without calls of these names, and without what was said to come of them."""
    kept: list[Sent] = []
    gone: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            gone = {call.id for call in message.calls if call.name in names}
            message = replace(message, calls=tuple(c for c in message.calls if c.name not in names))
        if message.role != "tool" or message.call_id not in gone:
            kept.append(message)
    return tuple(kept)


def _answering(told: Sequence[Sent]) -> tuple[Sent, ...]:
    """The same with each result at the call it answers: by id, else by the call's name, else in order.

    BadRequest where a result that is new answers nothing; an old one is harmless.
    """
    found: list[Sent] = []
    calls: tuple[ToolCall, ...] = ()
    open_ids: list[str] = []
    n_new = max((n for n, message in enumerate(told) if message.role == "assistant"), default=-1)
    for n, message in enumerate(told):
        if message.role == "assistant":
            calls, open_ids = message.calls, [call.id for call in message.calls]
        elif message.role == "tool":
            call_id = _answered(message.call_id, calls, open_ids)
            if not call_id and n > n_new:
                raise BadRequest("This result of a tool answers no call before it.", "messages")
            message = replace(message, call_id=call_id or message.call_id)
            open_ids = [other for other in open_ids if other != call_id]
        found.append(message)
    return tuple(found)


def _answered(said: str, calls: Sequence[ToolCall], open_ids: Sequence[str]) -> str:
    """The id of the call that a result with this id (or name, or neither) answers; "" for none."""
    if not said:
        return next(iter(open_ids), "")
    if any(call.id == said for call in calls):
        # Of calls with one id the later ones got another when they were read.
        twins = (one for one in open_ids if one == said or one.startswith(f"{said[:90]}_"))
        return next(twins, said)
    return next((call.id for call in calls if call.name == said and call.id in open_ids), "")


def _messages(raw: Any) -> list[Sent]:
    if not isinstance(raw, list) or not raw:
        raise BadRequest("A list with at least one message is needed.", "messages")
    if len(raw) > MAX_MESSAGES:
        raise BadRequest(f"At most {MAX_MESSAGES} messages are allowed.", "messages")
    return [_message(item, f"messages[{n}]") for n, item in enumerate(raw)]


def _message(item: Any, param: str) -> Sent:
    if not isinstance(item, dict):
        raise BadRequest("Each message must be an object.", param)
    raw_role = item.get("role")
    role = _ROLES.get(raw_role, raw_role) if isinstance(raw_role, str) else None
    if role not in _KNOWN:
        raise BadRequest("The role must be system, developer, user, assistant or tool.", f"{param}.role")
    calls = read_calls(item) if role == "assistant" else ()
    content = item.get("content")
    if content is None and not calls and role != "assistant":
        raise BadRequest("A message needs content.", f"{param}.content")
    text = _content(content, f"{param}.content")
    if role == "user" and not text.strip():
        raise BadRequest("The message is blank.", f"{param}.content")
    call_id = item.get("tool_call_id", item.get("name", ""))
    return Sent(role, text, calls, call_id[:100] if role == "tool" and isinstance(call_id, str) else "")


def _content(content: Any, param: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return clean_text(content)
    if not isinstance(content, list):
        raise BadRequest("Text, or a list of parts, is needed.", param)
    texts: list[str] = []
    for n, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in _TEXT_PARTS:
            raise BadRequest("Only text can be read here.", f"{param}[{n}]", "unsupported_content")
        text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):
            raise BadRequest("A part of text needs text.", f"{param}[{n}].text")
        texts.append(clean_text(text))
    return "\n".join(texts)


def _tools(data: dict[str, Any]) -> tuple[tuple[dict[str, Any], ...], str | dict[str, Any]]:
    raw = data.get("tools")
    if raw is None and isinstance(data.get("functions"), list):
        raw = [{"type": "function", "function": item} for item in data["functions"]]
    if raw is None:
        _choice(data.get("tool_choice"), None)
        return (), ""
    if not isinstance(raw, list) or len(raw) > MAX_TOOLS:
        raise BadRequest(f"A list of at most {MAX_TOOLS} tools is needed.", "tools")
    found: list[dict[str, Any]] = []
    for n, item in enumerate(raw):
        function = item.get("function") if isinstance(item, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            raise BadRequest("A function with a name is needed.", f"tools[{n}].function.name")
        parameters = function.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise BadRequest("A JSON schema is needed.", f"tools[{n}].function.parameters")
        found.append({"type": "function", "function": function})
    return tuple(found), _choice(data.get("tool_choice"), {tool["function"]["name"] for tool in found})


def _choice(raw: Any, names: Collection[str] | None) -> str | dict[str, Any]:
    """The choice as hosts take it; a tool that is named must be one of `names` (None: there are no tools)."""
    if raw in (None, "auto"):
        return "auto"
    if raw in ("none", "required"):
        return str(raw)
    if isinstance(raw, dict) and isinstance(raw.get("type"), str):
        function = raw.get("function")
        name = function.get("name") if isinstance(function, dict) else raw.get("name")
        if raw["type"] != "function" or names is None:
            return "required"
        if isinstance(name, str) and name in names:
            return {"type": "function", "function": {"name": name}}
        raise BadRequest("The tool chosen must be one of the tools.", "tool_choice")
    raise BadRequest("One of none, auto, required, or a tool, is needed.", "tool_choice")


def _flag(raw: Any, param: str) -> bool:
    if raw is None or isinstance(raw, bool):
        return bool(raw)
    raise BadRequest("True or false is needed.", param)


def _number(raw: Any, param: str, low: float, high: float) -> float | None:
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not low <= raw <= high:
        raise BadRequest(f"A number from {low:g} to {high:g} is needed.", param)
    return float(raw)


def _limit(data: dict[str, Any]) -> int | None:
    for param in ("max_completion_tokens", "max_tokens"):
        raw = data.get(param)
        if raw is None or (raw in (0, -1) and not isinstance(raw, bool)):
            continue  # several clients say "no limit" so
        if isinstance(raw, bool) or not isinstance(raw, int) or not 0 < raw <= MAX_TOKENS:
            raise BadRequest("A whole number above 0 is needed.", param)
        return raw
    return None
