"""Prompt text on record, each piece once under its hash, and how it is forgotten."""

from __future__ import annotations

from collections.abc import Iterable

from synth.llm.messages import sha256
from synth.models import PromptPart

REMOVED = "[removed]"


def save(texts: Iterable[str]) -> list[str]:
    """Store texts that are not stored yet, in one INSERT; their hashes in the order given.

    A text that was forgotten stays forgotten.
    """
    texts = list(texts)
    hashes = [sha256(text) for text in texts]
    # Sorted, so that two calls saving the same parts lock them in the same order.
    unique = sorted(dict(zip(hashes, texts, strict=True)).items())
    rows = [PromptPart(sha256=digest, text=text) for digest, text in unique]
    PromptPart.objects.bulk_create(rows, ignore_conflicts=True)
    return hashes


def forget(hashes: Iterable[str]) -> int:
    """Replace the text of these parts by `[removed]` for good; how many were changed."""
    chosen = PromptPart.objects.filter(sha256__in=list(hashes), is_removed=False)
    return chosen.update(text=REMOVED, is_removed=True)
