"""JSON read and written strictly, at any sane depth, without losing a byte of any name.

Python's own reader accepts `NaN`, turns `1e999` into infinity and gives up on deep nesting. Here the first
two are refused, and nesting up to `MAX_DEPTH` containers is read and written. A key that comes twice counts
once, with its last value, as in most readers. Lone surrogates pass through and come out escaped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.encoder import encode_basestring
from typing import Any, NoReturn

MAX_DEPTH = 1_024  # containers inside each other, the outermost included
_MAX_DIGITS = 300  # of a whole number; more would not fit a float
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(\\\\)|\\u0000")


class BadJson(ValueError):
    """The bytes are not JSON as the standard has it. `position` is a character offset, 0 where unknown."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


def loads(data: bytes | str) -> Any:
    """The value of a UTF-8 JSON text. BadJson for anything else, numbers beyond floats and deeper nesting."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadJson("The text is not UTF-8", error.start) from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadJson(error.msg, error.pos) from None
    except RecursionError:
        return _Deep(text).read()


def dumps(value: Any) -> str:
    """Compact JSON text in the order given. ValueError for NaN; TypeError for what JSON does not have."""
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return "".join(_written(value))


def dump_bytes(value: Any) -> bytes:
    """`dumps` as UTF-8; a lone surrogate, which UTF-8 cannot carry, is written as its escape."""
    text = dumps(value)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def saveable(value: Any) -> Any:
    """The value with U+FFFD for lone surrogates and NUL, which no database text can hold."""
    text = dumps(value)
    clean = _ESCAPED_NUL.sub(lambda found: found[1] or "\ufffd", _SURROGATE.sub("\ufffd", text))
    return value if clean == text else loads(clean)


def depth(value: Any) -> int:
    """How many containers lie inside each other: 0 for a plain value, 1 for `{}` or `[1]`."""
    deepest, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list | tuple)]:
        deepest += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


def _refuse_constant(word: str) -> NoReturn:
    raise BadJson(f"{word} is not JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise BadJson("A number is out of range")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise BadJson("A number is out of range")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class _Deep:
    """Reads one text with a list of open containers instead of the interpreter's stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> Any:
        root: list[Any] = []
        # Each open container with the key its next value gets; None for a list.
        stack: list[tuple[Any, str | None]] = [(root, None)]
        while True:
            value, is_open = self._value()
            container, key = stack[-1]
            if isinstance(container, dict):
                container[key] = value
            else:
                container.append(value)
            if is_open:
                if len(stack) > MAX_DEPTH:
                    raise BadJson(f"Nested deeper than {MAX_DEPTH} levels", self.at)
                key = self._key() if isinstance(value, dict) else None
                stack.append((value, key))
                continue
            while len(stack) > 1 and self._ends(stack[-1][0]):
                stack.pop()
            if len(stack) == 1:
                break
            if isinstance(stack[-1][0], dict):
                stack[-1] = (stack[-1][0], self._key())
        if self._peek():
            raise BadJson("Extra data", self.at)
        return root[0]

    def _peek(self) -> str:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise BadJson(f"Expecting {wanted!r}", self.at)
        self.at += 1

    def _key(self) -> str:
        if self._peek() != '"':
            raise BadJson("Expecting property name enclosed in double quotes", self.at)
        key = self._string()
        self._take(":")
        return key

    def _string(self) -> str:
        try:
            value, self.at = scanstring(self.text, self.at + 1, True)
        except json.JSONDecodeError as error:
            raise BadJson(error.msg, error.pos) from None
        return str(value)

    def _ends(self, container: Any) -> bool:
        """True when the container closes here; False when another value follows."""
        if self._peek() == ",":
            self.at += 1
            return False
        self._take("}" if isinstance(container, dict) else "]")
        return True

    def _value(self) -> tuple[Any, bool]:
        """The next value, and whether it is a container that stays open."""
        char = self._peek()
        if char == '"':
            return self._string(), False
        if char and char in "{[":
            self.at += 1
            value: Any = {} if char == "{" else []
            if self._peek() == ("}" if char == "{" else "]"):
                self.at += 1
                return value, False
            return value, True
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            is_float = found[2] or found[3]
            return (_finite(found[0]) if is_float else _whole(found[0])), False
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value, False
        raise BadJson("Expecting value", self.at)


def _written(root: Any) -> Iterator[str]:
    """Pieces of the compact text, with a list of open containers instead of the interpreter's stack."""
    stack: list[tuple[Iterator[Any], str]] = [(iter([(None, root)]), "")]
    is_first = True
    while stack:
        entries, closing = stack[-1]
        try:
            key, value = next(entries)
        except StopIteration:
            stack.pop()
            is_first = False
            yield closing
            continue
        if not is_first:
            yield ","
        if key is not None:
            yield f"{encode_basestring(key)}:"
        is_first = isinstance(value, dict | list | tuple)
        if isinstance(value, dict):
            yield "{"
            stack.append((iter(list(value.items())), "}"))
        elif isinstance(value, list | tuple):
            yield "["
            stack.append((((None, item) for item in value), "]"))
        else:
            yield _ENCODER.encode(value)
