"""Checks `docs/background.md` against the code: every tick and every event subscription has its row."""

from __future__ import annotations

from collections.abc import Iterable

from synth.docs_pages import DOCS, tables

PAGE = DOCS / "background.md"
Pairs = Iterable[tuple[str, str]]


def problems(ticks: Iterable[str], subscriptions: Pairs, text: str | None = None) -> list[str]:
    """One sentence for each tick or `(event, handler)` that only the code or only the page knows."""
    rows = list(tables.read(PAGE.read_text(encoding="utf-8") if text is None else text))
    pages_ticks = {row["tick"].strip("`") for row in rows if "tick" in row}
    pages_pairs = {(row["event"].strip("`"), row["handler"].strip("`")) for row in rows if "event" in row}
    return [
        *_differences("tick", set(ticks), pages_ticks),
        *_differences("handler", _texts(subscriptions), _texts(pages_pairs)),
    ]


def _texts(pairs: Pairs) -> set[str]:
    return {f"{handler} of {event}" for event, handler in pairs}


def _differences(noun: str, code: set[str], page: set[str]) -> list[str]:
    missing = [f"{noun} {it} is registered but docs/background.md has no row" for it in sorted(code - page)]
    gone = [f"{noun} {it} is in docs/background.md but not registered" for it in sorted(page - code)]
    return missing + gone
