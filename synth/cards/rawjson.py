"""A JSON object as its members, each with the very text it came as, so that it can be written back unchanged.

`json.loads` and `dumps` would turn `1.0e3` into `1000.0` and order escapes anew; a card's fields that nobody
here knows must come back byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
# Far beyond any card; a text made of nothing but members would take a hundred times its size in memory.
MAX_MEMBERS = 10_000
MAX_DEPTH = 100


@dataclass(frozen=True)
class Member:
    """One member. `before`, `colon`, `after` are the text around key and value: blanks, and the colon."""

    before: str
    raw_key: str
    colon: str
    raw_value: str
    after: str = ""

    @property
    def key(self) -> str:
        """The key as read."""
        return str(json.loads(self.raw_key, strict=False))

    @property
    def value(self) -> Any:
        """The value as read."""
        return json.loads(self.raw_value, strict=False)


class RawObject:
    """An object's members in their order. Of a doubled key the last one counts, as for `json.loads`."""

    def __init__(self, text: str) -> None:
        """ValueError unless `text` is one JSON object and nothing else, or for far too much in it."""
        self.head, self.tail = "", ""
        self._members: list[Member] = []
        for member in self._scan(text):
            if len(self._members) == MAX_MEMBERS:
                raise ValueError(f"an object has more than {MAX_MEMBERS} members")
            self._members.append(member)

    def __str__(self) -> str:
        inner = ",".join(f"{m.before}{m.raw_key}{m.colon}{m.raw_value}{m.after}" for m in self._members)
        return f"{self.head}{{{inner}}}{self.tail}"

    def __contains__(self, key: str) -> bool:
        return self._find(key) is not None

    def raw(self, key: str) -> str:
        """The text of a member's value; '' where there is none."""
        at = self._find(key)
        return "" if at is None else self._members[at].raw_value

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a member."""
        at = self._find(key)
        return default if at is None else self._members[at].value

    def set(self, key: str, value: Any) -> None:
        """Give a member a value; one that reads the same already keeps its text."""
        at = self._find(key)
        if at is None or self._members[at].value != value:
            self.set_raw(key, json.dumps(value, ensure_ascii=False))

    def set_raw(self, key: str, raw: str) -> None:
        """Give a member the JSON text `raw` as its value."""
        at = self._find(key)
        if at is not None:
            self._members[at] = replace(self._members[at], raw_value=raw)
            return
        last = self._members[-1] if self._members else None
        before, colon = (last.before, last.colon) if last else ("", ": ")
        after = ""
        if last is not None:
            # The blanks before the closing brace stay there.
            after = last.after
            self._members[-1] = replace(last, after="")
        self._members.append(Member(before, json.dumps(key, ensure_ascii=False), colon, raw, after))

    def remove(self, key: str) -> None:
        """Take every member of that key out."""
        self._members = [m for m in self._members if m.key != key]

    def _find(self, key: str) -> int | None:
        found = [n for n, member in enumerate(self._members) if member.key == key]
        return found[-1] if found else None

    def _scan(self, text: str) -> Iterator[Member]:
        at = _blanks(text, 0)
        self.head = text[:at]
        at = _expect(text, at, "{")
        is_first = True
        while True:
            start = at
            at = _blanks(text, at)
            if is_first and text[at : at + 1] == "}":
                break
            is_first = False
            before = text[start:at]
            key, key_end = _value(text, at)
            if not isinstance(key, str):
                raise ValueError("a key must be a string")
            colon_end = _blanks(text, _expect(text, _blanks(text, key_end), ":"))
            value, value_end = _value(text, colon_end)
            if _is_deep(value):
                raise ValueError("nested too deeply")
            end = _blanks(text, value_end)
            yield Member(
                before,
                text[at:key_end],
                text[key_end:colon_end],
                text[colon_end:value_end],
                text[value_end:end],
            )
            at = end + 1
            if text[end : end + 1] == "}":
                at = end
                break
            _expect(text, end, ",")
        self.tail = text[at + 1 :]
        if self.tail.strip(" \t\r\n"):
            raise ValueError("something follows the object")


def _is_deep(value: Any) -> bool:
    """Whether containers stand in each other beyond the limit; Python's own depends on its stack."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for item in level if isinstance(item, dict | list) for inner in _inside(item)]
        if not level:
            return False
    return True


def _inside(item: dict[str, Any] | list[Any]) -> list[Any]:
    values = item.values() if isinstance(item, dict) else item
    return [value for value in values if isinstance(value, dict | list)]


def _blanks(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise ValueError(f"{mark!r} is missing at character {at}")
    return at + 1


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError("nested too deeply") from None
