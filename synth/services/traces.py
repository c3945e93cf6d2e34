"""Finds a person's words again wherever they were copied: in prompts, replies, payloads. Pure.

Two texts are compared by letters and digits alone, so fences, line breaks, cuts and changed spacing do not
hide a copy. A copied run of `2 * RUN - 1` letters is always found; shorter texts are looked for whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from synth.text.words import fold

RUN = 24
MIN_LETTERS = 4
MIN_NAME = 3
_NOT_LETTERS = re.compile(r"[\W_]+")


def letters(text: str) -> str:
    """The folded letters and digits of a text, nothing between them."""
    return _NOT_LETTERS.sub("", fold(text))


class Traces:
    """What to look for: copies of `texts`, and `names` as whole words."""

    def __init__(self, texts: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self.runs: dict[int, set[str]] = {}
        self.add(texts)
        folded = sorted({fold(name) for name in names if len(name) >= MIN_NAME})
        self.names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, folded))})(?!\w)") if folded else None

    def add(self, texts: Iterable[str]) -> None:
        """Look for copies of these too; an eraser adds what only its app knows to be of the subject."""
        for text in texts:
            plain = letters(text)
            size = min(len(plain), RUN)
            if size >= MIN_LETTERS:
                found = (plain[at : at + size] for at in range(0, len(plain) - size + 1, size))
                self.runs.setdefault(size, set()).update(found)

    def __bool__(self) -> bool:
        return bool(self.runs or self.names)

    def are_in(self, text: str) -> bool:
        """Whether a text holds any of it."""
        if not text or not self:
            return False
        if self.names is not None and self.names.search(fold(text)):
            return True
        plain = letters(text)
        return any(
            plain[at : at + size] in runs
            for size, runs in self.runs.items()
            for at in range(len(plain) - size + 1)
        )

    def scrub(self, value: Any, mark: str) -> Any:
        """A JSON value with `mark` in place of every string that holds any of it."""
        if isinstance(value, str):
            return mark if self.are_in(value) else value
        if isinstance(value, list):
            return [self.scrub(item, mark) for item in value]
        if isinstance(value, dict):
            return {
                mark if self.are_in(str(key)) else key: self.scrub(item, mark) for key, item in value.items()
            }
        return value
