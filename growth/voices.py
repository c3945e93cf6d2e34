"""How the composer speaks in one language: phrases, days, quotation marks, numbers."""

import json
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import Any

from synth.text import words

LANGUAGES = ("en", "it", "de", "fr", "es", "pt", "nl", "ru", "ja", "zh", "ko")
# Without phrases of a language the diary speaks alone, with its dates.
_NEUTRAL = {kind: ["{q} ({when})"] for kind in ("open", "next", "keep", "taste", "single", "suspect")}
_KANA = range(0x3041, 0x3100)
_INNER = {"“": "‘", "”": "’", "«": "“", "»": "”", "„": "‚", "「": "『", "」": "』"}


class Voice:
    """Phrases of one language; `code` is "" for the neutral voice."""

    def __init__(self, code: str, data: dict[str, Any]) -> None:
        self.code, self._data = code, data
        self.sep: str = data.get("sep", " ")

    def phrases(self, kind: str) -> list[str]:
        """Phrases of a kind with `{q}`, `{when}`, `{When}` or the facts of `person`; [] when it has none."""
        found: list[str] = self._data.get(kind, [])
        return found

    @property
    def inline(self) -> dict[str, str]:
        """Regular expressions for retelling without quotation marks (see `growth.retell`); {} for never."""
        found: dict[str, str] = self._data.get("inline", {})
        return found

    def when(self, on: date, has_dates: bool, *, is_same: bool = False) -> str:
        """The day as an adverb, without a capital: a weekday, or a date where the week is longer than one."""
        if not self.code:
            return on.isoformat()
        if is_same:
            return str(self._data["same"])
        if not has_dates:
            return str(self._data["days"][on.weekday()])
        months = self._data.get("months")
        pattern: str = self._data.get("special", {}).get(str(on.day), self._data["date"])
        return pattern.format(d=on.day, m=on.month, month=months[on.month - 1] if months else on.month)

    def number(self, n: int) -> str:
        """A small number in words where the language has them here, else in digits."""
        numbers: list[str] = self._data.get("numbers", [])
        return numbers[n] if n < len(numbers) else str(n)

    def quoted(self, text: str) -> str:
        """`text` in quotation marks, its own marks of the same kind turned into inner ones."""
        opening, closing = self._data["quotes"]
        for mark in {opening.strip(), closing.strip()}:
            text = text.replace(mark, _INNER.get(mark, mark))
        return f"{opening}{text}{closing}"


def voice_for(language: str, texts: Iterable[str]) -> Voice:
    """The voice of `language` ("pt-BR" too); without one, of the diary's language; else the neutral one."""
    code = language[:2].lower()
    if code in LANGUAGES:
        return _voice(code)
    sample = " ".join(text[:2000] for text in texts)[:20_000]
    guess = "" if code else _guess(sample)
    return _voice(guess)


def _guess(sample: str) -> str:
    if any(ord(ch) in _KANA for ch in sample):
        return "ja"
    parts = words.pieces(sample)
    found = words.languages_of(piece for piece, unspaced in parts if not unspaced)
    return found[0] if found and found[0] in LANGUAGES else ""


@lru_cache(maxsize=16)
def _voice(code: str) -> Voice:
    if not code:
        return Voice("", {"quotes": ["“", "”"], **_NEUTRAL})
    path = resources.files("growth").joinpath(f"data/composer/{code}.json")
    return Voice(code, json.loads(path.read_text("utf-8")))
