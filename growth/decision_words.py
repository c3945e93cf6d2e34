"""Whole messages that can only be a yes or a no when a proposal was just shown; pure.

Only exact matches count, in any case and with plain marks at the end. "No" answers whatever was asked last,
so the caller must know that the last thing said was the proposal itself.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from pathlib import Path

MAX_CHARS = 40
_QUESTION = frozenset("?？؟⁇⁈՞;")  # the last is the Greek question mark
_MARKS = " .!。｡।~〜"
_PICTURES = {"approve": "👍✅👌✔🙂😊😀😃😄🙏❤💚💯✨🎉", "reject": "👎❌"}
_TRAILING = re.compile(r"\.\.|。。")
_VARIANTS = frozenset("\ufe0e\ufe0f\u200d")


def read(message: str) -> str:
    """`approve`, `reject`, or '' for everything that is not exactly such a word."""
    if len(message) > MAX_CHARS or _QUESTION & set(message):
        return ""
    for kind, words in _table().items():
        if _plain(message) in words or _bare(message, kind) in words:
            return kind
    return ""


@cache
def _table() -> dict[str, frozenset[str]]:
    raw = json.loads((Path(__file__).parent / "data" / "decision_words.json").read_text(encoding="utf-8"))
    forms = {kind: {f for word in raw[kind] for f in (_plain(word), _bare(word, kind))} for kind in _PICTURES}
    return {kind: frozenset(found - {""}) for kind, found in forms.items()}


def _plain(text: str) -> str:
    """Width, case, spaces and emoji variants do not count."""
    kept = "".join(ch for ch in text if ch not in _VARIANTS and not "\U0001f3fb" <= ch <= "\U0001f3ff")
    return " ".join(unicodedata.normalize("NFKC", kept).casefold().replace("’", "'").split())


def _bare(text: str, kind: str) -> str:
    """Also without plain marks and pictures that say the same at the end, and commas within.

    Quotation marks, dots that trail off and any other picture may turn a yes around, so they stay.
    """
    words = " ".join(_plain(text).replace(",", " ").replace("、", " ").split())
    words = words.removeprefix("¡").rstrip(_MARKS + _PICTURES[kind])
    return words if not _TRAILING.search(_plain(text)) else ""
