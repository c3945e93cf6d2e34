"""Prompt text on record, each piece once under its hash, and how it is forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import transaction

from synth.llm.messages import sha256
from synth.models import LlmCall, PromptPart

if TYPE_CHECKING:
    from synth.models import Agent

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


def forget_quotes(agent: Agent, quote: str) -> int:
    """Deep forget: every part and reply of this agent that holds `quote` becomes `[removed]`.

    Gives how many were changed. A part shared with another agent goes too: it is the same text.
    """
    if not quote.strip():
        return 0
    with transaction.atomic():
        used = PromptPart.objects.filter(calls__agent=agent, text__contains=quote, is_removed=False)
        n_parts = forget(used.values_list("sha256", flat=True))
        calls = LlmCall.objects.filter(agent=agent, response_text__contains=quote)
        return n_parts + calls.update(response_text=REMOVED)
