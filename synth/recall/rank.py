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


class Ranking:
    """The scores of candidates for one question at one instant."""

    def __init__(self, slots: Sequence[Slot], at: datetime) -> None:
        self.at = at
        self.total = sum(slot.weight for slot in slots)
        self.worths: dict[str, list[tuple[int, float]]] = {}
        for n, slot in enumerate(slots):
            for term, share in slot.options:
                self.worths.setdefault(term, []).append((n, slot.weight * share))

    def relevance(self, held: Iterable[str]) -> float:
        """The weighted part of the question that `held` answers, 0..1; each word counts once."""
        got: dict[int, float] = {}
        for term in held:
            for n, worth in self.worths.get(term, ()):
                got[n] = max(got.get(n, 0.0), worth)
        # Summed in the order of the words, so that equal candidates have equal scores to the last bit.
        return sum(got[n] for n in sorted(got)) / self.total if self.total else 0.0

    def score(self, candidate: Candidate) -> float:
        """0..1; 0 when no word is held."""
        words = self.relevance(candidate.held)
        if words == 0:
            return 0.0
        heads = self.relevance(term[1:] for term in candidate.held if term.startswith(HEAD))
        brevity = 1 / (1 + 0.1 * math.log1p(candidate.n_tokens / 100))
        age_days = max((self.at - candidate.at).total_seconds(), 0.0) / 86_400
        fresh = math.exp2(-age_days / HALF_LIFE_DAYS)
        return min(1.0, WORDS * words * brevity + HEADS * heads + FRESH * fresh)

    def best(self, candidates: Iterable[Candidate], limit: int) -> list[tuple[Candidate, float]]:
        """The `limit` best with their scores; equal scores: newer first, then the higher id."""
        scored = [(candidate, self.score(candidate)) for candidate in candidates]
        scored = [pair for pair in scored if pair[1] > 0]
        scored.sort(key=lambda pair: (-pair[1], -pair[0].at.timestamp(), -pair[0].id))
        return scored[:limit]
