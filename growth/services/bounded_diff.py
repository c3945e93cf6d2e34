"""A sequence matcher whose work is bounded, so that texts of few pieces over and over hold no thread."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import Match, SequenceMatcher

# Steps of the search in all, about three seconds; a text of 4,000 characters and its rewriting take a third.
MAX_STEPS = 12_000_000


class BoundedMatcher(SequenceMatcher[str]):
    """Finds what two sequences share, as `SequenceMatcher` without junk does, until the steps are used up.

    What is left then counts as different: the opcodes still turn `a` into `b`, less finely.
    """

    def __init__(self, a: Sequence[str], b: Sequence[str], max_steps: int = MAX_STEPS) -> None:
        super().__init__(None, a, b, autojunk=False)
        self.n_steps_left = max_steps
        self._pieces = a
        # Where each piece of `b` stands; the base class has made it, and its types do not say so.
        self._places: dict[str, list[int]] = self.b2j  # type: ignore[attr-defined]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        ahi = len(self._pieces) if ahi is None else ahi
        self.n_steps_left -= sum(len(self._places.get(piece, ())) for piece in self._pieces[alo:ahi])
        if self.n_steps_left < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)
