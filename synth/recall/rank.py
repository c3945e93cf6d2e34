"""The score of one candidate: 0..1 by the words it holds, a little by name, tags, length and age. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from synth.recall.lexemes import HEAD
from synth.recall.query import Slot

WORDS, HEADS, FRESH = 0.88, 0.08, 0.04
HALF_LIFE_DAYS = 30.0


@dataclass(frozen=True)
class Candidate:
    """What the ranking knows of a memory; `held` are the question's terms found in it."""

    id: int
    at: datetime
    n_tokens: int
    held: Collection[str]


def relevance(slots: Iterable[Slot], held: Collection[str], prefix: str = "") -> float:
    """The weighted part of the question that `held` answers, 0..1."""
    total = got = 0.0
    for slot in slots:
        total += slot.weight
        got += slot.weight * max(
            (share for term, share in slot.options if prefix + term in held), default=0.0
        )
    return got / total if total else 0.0


def score(slots: Sequence[Slot], candidate: Candidate, at: datetime) -> float:
    """The score of a candidate at the instant `at`; 0 when no word is held."""
    words = relevance(slots, candidate.held)
    if words == 0:
        return 0.0
    brevity = 1 / (1 + 0.1 * math.log1p(candidate.n_tokens / 100))
    age_days = max((at - candidate.at).total_seconds(), 0.0) / 86_400
    fresh = 0.5 ** (age_days / HALF_LIFE_DAYS)
    heads = relevance(slots, candidate.held, HEAD)
    return min(1.0, WORDS * words * brevity + HEADS * heads + FRESH * fresh)


def best(
    slots: Sequence[Slot], candidates: Iterable[Candidate], at: datetime, limit: int
) -> list[tuple[Candidate, float]]:
    """The `limit` best candidates with their scores; equal scores: newer first, then the higher id."""
    scored = [(candidate, score(slots, candidate, at)) for candidate in candidates]
    scored = [pair for pair in scored if pair[1] > 0]
    scored.sort(key=lambda pair: (-pair[1], -pair[0].at.timestamp(), -pair[0].id))
    return scored[:limit]
