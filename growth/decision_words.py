"""Whole messages that can only be a yes or a no when a proposal was just shown; pure.

Only exact matches count, in any case and with marks at the ends. "No" answers whatever was asked last, so the
caller must know that the last thing said was the proposal itself.
"""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from pathlib import Path

MAX_CHARS = 40
_QUESTION = frozenset("?？؟⁇⁈՞;")  # the last is the Greek question mark
_VARIANTS = frozenset("\ufe0e\ufe0f\u200d")


def read(message: str) -> str:
    """`approve`, `reject`, or '' for everything that is not exactly such a word."""
    if len(message) > MAX_CHARS or _QUESTION & set(message):
        return ""
    words = _table()
    return words.get(_plain(message)) or words.get(_bare(message), "")


@cache
def _table() -> dict[str, str]:
    raw = json.loads((Path(__file__).parent / "data" / "decision_words.json").read_text(encoding="utf-8"))
    pairs = [(word, kind) for kind in ("approve", "reject") for word in raw[kind]]
    found = {form(word): kind for word, kind in pairs for form in (_plain, _bare)}
    found.pop("", None)
    return found


def _plain(text: str) -> str:
    """Width, case, spaces and emoji variants do not count."""
    kept = "".join(ch for ch in text if ch not in _VARIANTS and not "\U0001f3fb" <= ch <= "\U0001f3ff")
    return " ".join(unicodedata.normalize("NFKC", kept).casefold().replace("’", "'").split())


def _bare(text: str) -> str:
    """Also without marks and pictures at the ends, and commas within."""
    words = " ".join(_plain(text).replace(",", " ").replace("、", " ").split())
    start, end = 0, len(words)
    while start < end and unicodedata.category(words[start])[0] in "PSZ":
        start += 1
    while end > start and unicodedata.category(words[end - 1])[0] in "PSZ":
        end -= 1
    return words[start:end]
