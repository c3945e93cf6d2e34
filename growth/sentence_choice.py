"""A text of which a reader kept, dropped and rewrote single sentences; pure."""

from __future__ import annotations

from collections.abc import Sequence

from synth.text.sentences import spans


def chosen(text: str, choice: Sequence[str | None]) -> str:
    """`text` with its nth sentence as `choice[n]` says: None or blank drops it.

    What stood before a kept sentence (a space, a new paragraph, a bullet) stays; a paragraph of which nothing
    was kept leaves no gap. Sentences the choice says nothing about are dropped. What follows the last
    sentence goes with it.
    """
    pieces: list[str] = []
    end = 0
    gap = ""
    is_last_kept = False
    for n, (a, b) in enumerate(spans(text)):
        before, end = text[end:a], b
        gap = before if _is_wider(before, gap) else gap
        kept = choice[n] if n < len(choice) else None
        is_last_kept = kept is not None and bool(kept.strip())
        if kept is not None and is_last_kept:
            pieces.append((gap if pieces else before.lstrip()) + kept.strip())
            gap = ""
    tail = text[end:] if is_last_kept else ""
    return ("".join(pieces) + tail).strip()


def _is_wider(before: str, gap: str) -> bool:
    """Whether the new gap separates more than the one left by dropped sentences."""
    return before.count("\n") >= gap.count("\n")
