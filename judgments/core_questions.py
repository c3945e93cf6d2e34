"""The questions of the core judgments as their trained heads know them: one wording for asking and training.

A head answers only the question it was trained on; an app that declares one of these judgments takes the
wording from here: `registry.declare("growth.decision", questions=core_questions.of("growth.decision"))`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).resolve().parent / "data" / "core_questions.json"


@cache
def _all() -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found


def of(name: str) -> dict[str, dict[str, Any]]:
    """The questions of that judgment, id → wire question. KeyError where it has none here."""
    return _all()[name]


def names() -> list[str]:
    """The judgments whose wording stands here; the others declare it themselves."""
    return list(_all())
