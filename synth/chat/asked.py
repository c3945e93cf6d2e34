"""The actions a reply asks for: by tool calls, or in the text of a model that cannot call tools. Pure.

In text it is `{"actions": [{"type", "payload"}]}`, read with the tolerant parser, which here also adds
missing braces outside the payloads and takes the spellings of an action that weak models use instead. The
words around it are kept, and those in it where a reply is one object with other keys before
(`{"reply", "actions"}`). An object that only repeats one from the conversation or from data is marked as
quoted.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synth.llm.messages import ToolCall
from synth.llm.tolerant import PROBLEMS, Parsed, clean_value, parse
from synth.llm.walk import ADDED, walk

MAX_ASKED = 16  # actions of one reply; the rest is refused
_MAX_OBJECTS = 8  # of one text; each is looked for from the beginning
QUOTE = "\"'“”„‟«»‘’`"
OBJECT = re.compile(rf"\{{\s*[{QUOTE}]?actions[{QUOTE}]?\s*:")
FENCE = re.compile("`{3,}|~{3,}")
_FENCED = rf"(?:(?:{FENCE.pattern})[\w-]*\s*)?"
WHOLE = re.compile(rf"{_FENCED}\{{\s*[{QUOTE}]")  # a reply that may be nothing but an object
MAY_BE_WHOLE = re.compile(rf"{_FENCED}\{{?\s*\Z")
_SAID = ("reply", "response", "message", "text", "content", "answer", "say")
THINKING = "think|thinking|thought|reasoning"
_TRY = re.compile(rf"[{QUOTE}]actions[{QUOTE}]\s*:\s*\[")
_TYPE = re.compile(rf"[{QUOTE}]type[{QUOTE}]\s*:")
UNOPENED = re.compile(rf"^[ \t]*(?=[{QUOTE}]actions[{QUOTE}]\s*:\s*\[)", re.MULTILINE)
_CLOSES = 3  # brackets around a payload: of its action, of the list, of the object
_NAMES = ("type", "name", "action", "tool")
_PAYLOADS = ("payload", "arguments", "args", "parameters", "params", "input")
_OPENING = re.compile(rf"(?:{FENCE.pattern})[\w-]*\s*\Z")
_LONGEST_OPENING = 200  # characters of a fence, its language and white space
_CLOSING = re.compile(rf"\s*(?:{FENCE.pattern})")
_THOUGHT = re.compile(rf"^\s*<({THINKING})\s*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_LONGEST_OBJECT = 20_000  # characters
_LISTED = re.compile(rf"(?<!\w)[{QUOTE}]?actions[{QUOTE}]?\s*:\s*(?=[\[{{])")
_REPLIED = re.compile(r"^[ \t]*>[> \t]*", re.MULTILINE)
_ESCAPED = re.compile(r"actions\\+[\"'u]")
_UNESCAPE = re.compile(r"\\([\"'\\/nrt])")
_MOST_STRINGS = 3  # strings in strings
_MOST_WORK = 1_000_000  # characters looked at for quotes; a text made to cost more makes every action a quote


@dataclass(frozen=True)
class Asked:
    """One action asked for. `problem` says why it cannot be read; `is_quoted` that it only repeats others."""

    id: str
    name: str
    payload: Any = None
    problem: str = ""
    is_quoted: bool = False

    @property
    def key(self) -> str:
        """The same for the same action with the same payload."""
        return f"{self.name} {_canonical(self.payload)}"

    def as_call(self) -> ToolCall:
        """The action as a tool call; its arguments are an object, because hosts take nothing else back."""
        payload = self.payload if isinstance(self.payload, dict) else {}
        return ToolCall(self.id, self.name, json.dumps(payload, ensure_ascii=False))


@dataclass(frozen=True)
class Wanted:
    """What a reply says and asks for. `via` is `tools` or `text`; `calls` are what the dialogue keeps."""

    text: str
    asked: list[Asked]
    via: str = "tools"

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The actions as tool calls."""
        return tuple(item.as_call() for item in self.asked)


def read(text: str, calls: Sequence[ToolCall], others: Iterable[str] = ()) -> Wanted:
    """The actions of a reply; where it has calls of its own, objects in its text are not read, only left out.

    `text` is whole: the model ended it, no limit did. `others` is what it was shown.
    """
    words = visible(text)
    if calls:
        return Wanted(_left(words)[0], [_of_call(call) for call in calls])
    if not _TRY.search(words) and not OBJECT.search(words):
        return Wanted(words, [], "text")
    first = _parse(words)
    is_opened = first.value is None and (opened := _opened(words)) != words
    if is_opened:
        words, first = opened, _parse(opened)
    if first.value is None:
        return Wanted(words, _unreadable(words, first.problem), "text")
    left, more = _left(_without(words, first.value))
    # An object said twice, as by a model that thinks aloud before it asks, is one.
    values = {_canonical(found.value): found.value for found in (first, *more) if found.value}.values()
    items = [item for value in values for item in _items(value)]
    asked = [_of_item(item, n) for n, item in enumerate(items[:MAX_ASKED], 1)]
    if any(not item.problem for item in asked):
        known = _known(others, is_mended=is_opened or any(ADDED in found.notes for found in (first, *more)))
        asked = [replace(item, is_quoted=known is None or _quote_key(item) in known) for item in asked]
    if len(items) > MAX_ASKED:
        asked.append(
            Asked("text_0", "", problem=f"A reply has at most {MAX_ASKED} actions; the rest was left.")
        )
    elif OBJECT.search(left):
        asked += _unreadable(left, "broken")
    return Wanted(left, asked, "text")


def _parse(text: str) -> Parsed:
    return parse(text, expected=("actions",), closes=_CLOSES)


def _opened(words: str) -> str:
    """The words with the first brace of an object that begins a line without it, where that makes one."""
    found = UNOPENED.search(words)
    if found is None or words[: found.start()].rstrip()[-1:] in (",", ":", "[", "{"):
        return words
    opened = f"{words[: found.end()]}{{{words[found.end() :]}"
    return words if _parse(opened).value is None else opened


def _left(words: str) -> tuple[str, list[Parsed]]:
    """The words without the action objects in them, and these, in order."""
    objects: list[Parsed] = []
    while len(objects) < _MAX_OBJECTS and OBJECT.search(words):
        found = _parse(words)
        rest = words if found.value is None else _without(words, found.value)
        if found.value is None or rest == words:
            break
        words = rest
        objects.append(found)
    return words, objects


def _unreadable(words: str, problem: str) -> list[Asked]:
    """A try at an action that cannot be used; nothing for words that are only about actions."""
    if not _TRY.search(words) or not _TYPE.search(words):
        return []
    why = f"The JSON object could not be used: {PROBLEMS.get(problem, problem)}."
    return [Asked("text_0", "", problem=why)]


def visible(text: str) -> str:
    """The words meant for the person: without the thinking a reply may begin with."""
    return _THOUGHT.sub("", text, count=1).strip()


def payload_of(arguments: str) -> tuple[Any, str]:
    """(value, problem) of the arguments of a tool call. Blank and `null` are both None; `{}` is an object."""
    if not arguments.strip():
        return None, ""
    try:
        value = json.loads(arguments, strict=False, parse_constant=_no_constant, parse_float=_finite)
        return clean_value(value), ""
    except (ValueError, RecursionError):
        pass
    parsed = parse(arguments)
    if parsed.value is not None:
        return parsed.value, ""
    return None, f"The arguments could not be used: {PROBLEMS.get(parsed.problem, parsed.problem)}."


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    """A number that a float and a column can hold; 1e999 is neither."""
    if math.isinf(value := float(digits)):
        raise ValueError(f"{digits[:40]} is too large")
    return value


def _of_call(call: ToolCall) -> Asked:
    payload, problem = payload_of(call.arguments)
    return Asked(call.id, call.name, payload, problem)


def _items(value: dict[str, Any]) -> list[Any]:
    items = value["actions"]
    if isinstance(items, dict):
        items = [items]
    return items if isinstance(items, list) else [None]


def _of_item(item: Any, n: int) -> Asked:
    name, payload, problem = _name_and_payload(item)
    return Asked(f"text_{n}", name.strip(), None if problem else _unpacked(payload), problem)


def _name_and_payload(item: Any) -> tuple[str, Any, str]:
    """(name, payload, problem) of one action, in any spelling that can mean one thing only.

    Besides `{"type", "payload"}`: the name alone, `{"name", "arguments"}` as in tool calls,
    `{name: payload}`, and arguments beside the type.
    """
    no_action = 'Each action is an object with "type" and "payload".'
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if isinstance(item, str) and item.strip():
        return item, None, ""
    if not isinstance(item, dict):
        return "", None, no_action
    named = next((key for key in _NAMES if isinstance(item.get(key), str) and item[key].strip()), "")
    if not named:
        ((name, payload),) = item.items() if len(item) == 1 else [("", None)]
        is_one = name.strip() and name not in (*_NAMES, *_PAYLOADS) and isinstance(payload, dict)
        return (name, payload, "") if is_one else ("", None, no_action)
    beside = {key: value for key, value in item.items() if key != named}
    held = [key for key in _PAYLOADS if key in beside]
    if not held:
        return item[named], beside or None, ""
    unknown = sorted(set(beside) - {held[0]})
    if unknown:
        return item[named], None, f'An action has "type" and "payload" only, not {unknown[0][:40]!r}.'
    return item[named], beside[held[0]], ""


def _unpacked(payload: Any) -> Any:
    """The payload; of one that is an object written as a string, as arguments of calls are, the object."""
    if isinstance(payload, str) and payload.lstrip().startswith("{"):
        value, _ = payload_of(payload)
        return value if isinstance(value, dict) else payload
    return payload


def _known(texts: Iterable[str], *, is_mended: bool) -> set[str] | None:
    """Quote keys of every action that stands in the texts, in any object and in spellings of JSON in text.

    None where that cannot be told: where it is too much to look through, or where a text has an object that
    cannot be read and braces were added to the reply's: it may be the same one.
    """
    found: set[str] = set()
    work = 0
    for text in texts:
        for spelling in _spellings(text):
            for match in _LISTED.finditer(spelling):
                items, n_chars = _listed_at(spelling, match.end())
                work += n_chars
                if work > _MOST_WORK:
                    return None
                if items is not None:
                    found.update(_quote_key(_of_item(item, 1)) for item in items)
                elif is_mended:
                    return None
    return found


def _listed_at(text: str, start: int) -> tuple[list[Any] | None, int]:
    """The actions listed there, or None, and how many characters were looked at.

    Read as the rest of their object first, as its brackets may be missing; else by themselves.
    """
    rest = f'{{"actions": {text[start : start + _LONGEST_OBJECT]}'
    whole = rest[: walk(rest, 0, _CLOSES).end]
    if (value := _parse(whole).value) is not None:
        return _items(value), len(whole)
    alone = _object_at(text, start)
    value = _parse(f'{{"actions": {alone}}}').value
    return None if value is None else _items(value), len(whole) + len(alone)


def _spellings(text: str) -> Iterator[str]:
    """A text, and what it says where JSON stands in a string of JSON, in HTML, in Python's words or in a
    quoted letter.
    """
    yield text
    if _REPLIED.search(text):
        yield _REPLIED.sub("", text)
    if "'actions'" in text:
        yield text.replace("'", '"')
    if "&" in text and (plain := html.unescape(text)) != text:
        yield plain
    for _ in range(_MOST_STRINGS):
        if not _ESCAPED.search(text):
            return
        text = _UNESCAPE.sub(lambda mark: {"n": "\n", "r": "\r", "t": "\t"}.get(mark[1], mark[1]), text)
        yield text


def _quote_key(item: Asked) -> str:
    """As `key`; no payload and an empty one are the same words."""
    return f"{item.name} {_canonical(item.payload or None)}"


def _object_at(text: str, start: int, longest: int = _LONGEST_OBJECT) -> str:
    """The object that begins there, or the rest where it does not end within the longest."""
    source = text[start : start + longest]
    return source[: walk(source, 0, _CLOSES).end]


def _without(text: str, value: dict[str, Any]) -> str:
    """The words around the object that was read, without the fence that held only it; those in it first."""
    starts = [match.start() for match in OBJECT.finditer(text)]
    if WHOLE.match(text) and not OBJECT.match(text, text.index("{")):
        starts.insert(0, text.index("{"))
    work = 0
    for start in starts:
        source = _object_at(text, start, len(text))
        work += len(source)
        if work > _MOST_WORK:
            break
        if _parse(source).value == value:
            before, after = text[:start], text[start + len(source) :]
            opening = _OPENING.search(before, max(0, len(before) - _LONGEST_OPENING))
            closing = _CLOSING.match(after)
            if opening and closing and len(FENCE.findall(before)) % 2:
                before, after = before[: opening.start()], after[closing.end() :]
            said = next((value[key] for key in _SAID if isinstance(value.get(key), str)), "")
            return "\n\n".join(part for part in (said.strip(), (before + after).strip()) if part)
    return text


def _canonical(payload: Any) -> str:
    return json.dumps(payload, sort_keys=True, ensure_ascii=False)
