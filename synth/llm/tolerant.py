"""One JSON object out of whatever a language model wrote, or the name of what is wrong with it.

`parse(text, expected=("a", "b"))` takes the first complete object that has every expected key. Fences,
prose around, a byte order mark, a list around it, closed `<think>` blocks, trailing commas and typographic
quotes as delimiters need no retry. Everything else ends as one of `PROBLEMS`; a cut reply is never completed
(missing brackets are added only where a caller says so) and valid JSON never repaired. Pure, linear in the
length of the text, and never an exception.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from synth.llm.walk import DOUBLE, SINGLE, Span, walk

PROBLEMS = {
    "empty": "it was empty",
    "no_object": "it held no JSON object",
    "missing_keys": "the JSON object did not have the expected keys",
    "cut": "it was cut off before its end",
    "broken": "it was not valid JSON",
    "single_quotes": "it used single quotes; JSON strings take double quotes",
    "python_repr": "it used Python words such as True and None; JSON has true, false and null",
    "comments": "it held comments; JSON has none",
    "unquoted_keys": "its keys were not in double quotes",
    "not_a_number": "it held NaN or Infinity, which JSON does not have",
    "json_in_string": "the JSON object was wrapped in a string",
    "missing_brace": "an opening brace was missing",
    "yaml": "it was YAML or a plain list of keys, not JSON",
    "too_deep": "it was nested too deeply",
}
_LONGEST_NUMBER = 300  # digits; longer ones cost quadratic time and fit no column
_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_TAG = re.compile(
    r"<(?P<slash>/?)(?:think|thinking|thought|reasoning)\s*>|\[(?P<slash2>/?)THINK\]", re.IGNORECASE
)
_SHELL = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "powershell", "tool_code"})
_EVENT = re.compile(
    rf"""(?P<object>\{{(?=\s*(?:["'{DOUBLE}{SINGLE}}}]|//|/\*|\#|[\w$]+\s*:)))
    |(?P<fence>^[ \t]*(?P<ticks>`{{3}}|~{{3}})[`~]*[ \t]*(?P<lang>[\w+\#.-]*))
    |(?P<tag><(?:/?)(?:think|thinking|thought|reasoning)\s*>|\[/?THINK\])""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_FENCE_END = {
    "```": re.compile(r"^[ \t]*`{3,}[ \t\r]*$", re.MULTILINE),
    "~~~": re.compile(r"^[ \t]*~{3,}[ \t\r]*$", re.MULTILINE),
}


@dataclass(frozen=True)
class Parsed:
    """`value` is the object, or None with the name of the `problem`. `notes` say what was looked past."""

    value: dict[str, Any] | None
    problem: str = ""
    notes: list[str] = field(default_factory=list)


def parse(text: str, *, expected: Collection[str] = (), closes: int = 0) -> Parsed:
    """The first complete object of `text` that has all `expected` keys. Never raises.

    `closes`: how many closing brackets may be missing at the end of a text that is whole (`walk`).
    """
    return _Reader(text, tuple(expected), closes).read()


class _NotFinite(ValueError):
    """NaN or Infinity stood where a number belongs."""


@dataclass
class _Reader:
    text: str
    expected: tuple[str, ...]
    closes: int = 0
    pos: int = 0
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    unclosed_fences: set[str] = field(default_factory=set)

    def note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def blame(self, problem: str) -> None:
        if self.problem in ("", "missing_keys"):
            self.problem = problem

    def read(self) -> Parsed:
        while match := _EVENT.search(self.text, self.pos):
            self.pos = match.end()
            if match["tag"]:
                if not self.skip_thinking(match["tag"]):
                    return Parsed(None, "cut", [*self.notes, "a thinking block was not closed"])
            elif match["fence"]:
                self.skip_fence(match["ticks"], match["lang"].casefold())
            else:
                value = self.try_object(match.start())
                if value is not None and not self.ended_a_thought():
                    return self.accept(value, match.start())
        # With a block skipped, the raw text would suggest the wrong name.
        nothing = "no_object" if self.notes else _name_nothing(self.text, self.expected)
        return Parsed(None, self.problem or nothing, self.notes)

    def skip_thinking(self, tag: str) -> bool:
        """Move past a thinking block; False when it never closes. A lone closing tag ends an unopened one."""
        self.note("thinking skipped")
        if "/" in tag:
            self.problem = ""
            return True
        for match in _TAG.finditer(self.text, self.pos):
            if match["slash"] or match["slash2"]:
                self.pos = match.end()
                return True
        return False

    def skip_fence(self, ticks: str, language: str) -> None:
        if language not in _SHELL or ticks in self.unclosed_fences:
            return
        closing = _FENCE_END[ticks].search(self.text, self.pos)
        if closing is None:
            self.unclosed_fences.add(ticks)  # searched once, so many open fences stay linear
            return
        self.note(f"a {language} block skipped")
        self.pos = closing.end()

    def ended_a_thought(self) -> bool:
        """True when the object just read lay in a thinking block whose opening tag was never sent."""
        match = _TAG.search(self.text, self.pos)
        if match is None or not (match["slash"] or match["slash2"]):
            return False
        self.note("thinking skipped")
        self.pos = match.end()
        self.problem = ""
        return True

    def try_object(self, start: int) -> dict[str, Any] | None:
        span = walk(self.text, start, self.closes)
        self.pos = len(self.text) if span.end is None else span.end
        if span.too_deep:
            self.blame("too_deep")
        elif span.end is None:
            self.blame(span.problem or "cut")
        else:
            value = self.decode(self.text[start : span.end], span)
            if value is not None and all(key in value for key in self.expected):
                return value
            self.blame("missing_keys" if value is not None else span.problem or "broken")
        return None

    def decode(self, source: str, span: Span) -> dict[str, Any] | None:
        notes: list[str] = []
        value = _loads(source, notes)
        if value is None and span.repaired:
            value = _loads(span.repaired, notes)
            notes.extend(sorted(span.repairs))
        if isinstance(value, dict):
            for note in notes:
                self.note(note)
            return value
        return None

    def accept(self, value: dict[str, Any], start: int) -> Parsed:
        before, after = self.text[:start].strip("\ufeff \t\r\n"), self.text[self.pos :].strip()
        if before.endswith("["):
            self.note("the first object of a list was used")
        if before.rstrip("[ \t\r\n"):
            self.note("text before the object ignored")
        if after.lstrip("] \t\r\n"):
            self.note("text after the object ignored")
        return Parsed(value, "", self.notes)


def _loads(source: str, notes: list[str]) -> Any:
    """The decoded and cleaned value, or None. Raw line breaks inside strings are let through."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            notes.append("a key stood twice; the last one counts")
        return found

    def whole(digits: str) -> int | None:
        if len(digits) <= _LONGEST_NUMBER:
            return int(digits)
        notes.append("a number too large to keep was read as null")
        return None

    def real(digits: str) -> float | None:
        number = float(digits)
        if math.isfinite(number):
            return number
        notes.append("a number too large to keep was read as null")
        return None

    def constant(name: str) -> None:
        raise _NotFinite(name)

    try:
        value = json.loads(
            source,
            strict=False,
            object_pairs_hook=pairs,
            parse_int=whole,
            parse_float=real,
            parse_constant=constant,
        )
    except (ValueError, RecursionError):
        return None
    return clean_value(value)


def clean_value(value: Any) -> Any:
    """The same value with NUL and lone surrogates replaced; at most `MAX_DEPTH` deep by then."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_value(item) for key, item in value.items()}
    return value


def clean_text(text: str) -> str:
    """The text with what PostgreSQL cannot store (NUL, lone surrogates) replaced by U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


def _name_nothing(text: str, expected: tuple[str, ...]) -> str:
    """Why no object was found at all."""
    bare = text.strip("\ufeff \t\r\n")
    if not bare:
        return "empty"
    if bare.endswith("{"):
        return "cut"
    if re.search(r'\{\s*\\+"', text):
        return "json_in_string"
    for key in expected:
        if re.search(rf'"{re.escape(key)}"[ \t]*+:', text):
            return "missing_brace"
        if re.search(rf"^[ \t]*+(?:[-*][ \t]*+)?{re.escape(key)}[ \t]*+:", text, re.MULTILINE):
            return "yaml"
    return "no_object"
