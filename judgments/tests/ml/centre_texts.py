"""The texts whose mean is the centre of the shipped encoder: phrases of the seeds in many languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEEDS = Path(__file__).parents[2] / "data" / "seeds.json"
LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "zh")
OF_EACH = 24
LEAST_CHARS = {"ja": 6, "zh": 5, "ko": 6}  # of the others 15: shorter ones are no sentences


def texts() -> list[str]:
    """The texts, sorted within each language, evenly spread."""
    by_language: dict[str, set[str]] = {code: set() for code in LANGUAGES}
    for code, text in _tagged(json.loads(SEEDS.read_text(encoding="utf-8"))):
        if len(text) >= LEAST_CHARS.get(code, 15):
            by_language[code].add(text)
    return [text for code in LANGUAGES for text in _spread(sorted(by_language[code]))]


def _tagged(value: Any, code: str = "en") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield code, value
    elif isinstance(value, dict):
        for key, found in value.items():
            yield from _tagged(found, key if key in LANGUAGES else code)
    elif isinstance(value, list):
        for found in value:
            yield from _tagged(found, code)


def _spread(found: list[str]) -> list[str]:
    step = max(1, len(found) // OF_EACH)
    return found[::step][:OF_EACH]
