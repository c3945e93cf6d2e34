"""What changed between two selves: a word diff of the texts and the list changes; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypedDict

from growth.lists import list_diff
from growth.services.bounded_diff import BoundedMatcher
from synth.text.words import is_unspaced

_PIECE = re.compile(r"\s+|\w+|[^\w\s]")


class TextChange(TypedDict):
    """A run of text; `op` is `equal`, `insert` or `delete`. Equal and inserted runs join to the new text."""

    op: str
    text: str


class ListChange(TypedDict):
    """Items only in the new list, and only in the old one."""

    added: list[str]
    removed: list[str]


class Diff(TypedDict):
    """The whole comparison."""

    text: list[TextChange]
    likes: ListChange
    dislikes: ListChange


class Self(Protocol):
    """Anything with a text and two lists."""

    content: str
    likes: list[str]
    dislikes: list[str]


def word_diff(old: str, new: str) -> list[TextChange]:
    """Runs that turn `old` into `new`: whole words, single characters of scripts without spaces."""
    a, b = split(old), split(new)
    changes: list[TextChange] = []
    for op, i1, i2, j1, j2 in BoundedMatcher(a, b).get_opcodes():
        if op == "equal":
            changes.append({"op": "equal", "text": "".join(a[i1:i2])})
            continue
        if i1 < i2:
            changes.append({"op": "delete", "text": "".join(a[i1:i2])})
        if j1 < j2:
            changes.append({"op": "insert", "text": "".join(b[j1:j2])})
    return changes


def between(old: Self, new: Self) -> Diff:
    """What changed from `old` to `new`."""
    return {
        "text": word_diff(old.content, new.content),
        "likes": _list(old.likes, new.likes),
        "dislikes": _list(old.dislikes, new.dislikes),
    }


def _list(old: Sequence[str], new: Sequence[str]) -> ListChange:
    found = list_diff(old, new)
    return {"added": list(found.added), "removed": list(found.removed)}


def split(text: str) -> list[str]:
    """Words, spaces and marks of `text` in order; joined they give `text` back."""
    pieces: list[str] = []
    for piece in _PIECE.findall(text):
        if any(is_unspaced(ch) for ch in piece):
            pieces.extend(piece)
        else:
            pieces.append(piece)
    return pieces
