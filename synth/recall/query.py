"""A question as weighted words, and which of them may fetch candidates without reading half the table.

Pure: counts come in as a mapping of term to number of memories.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from synth.recall.lexemes import HEAD, MAX_TERM_CHARS
from synth.text import words

MAX_SLOTS = 200
BUDGET_ROWS = 5000
FUNCTION_WORD = 0.3
SINGLE = 0.1
HEAD_SHARE = 0.4


@dataclass(frozen=True)
class Slot:
    """One word of the question: the terms that answer it, each with a share (0..1), and what it is worth.

    `selects`: may bring in candidates by itself. `is_spaced`: a word of a spaced script (typos are looked
    up).
    """

    word: str
    factor: float
    selects: bool
    is_spaced: bool
    options: tuple[tuple[str, float], ...] = ()
    weight: float = 0.0


def parse(query: str | Sequence[str]) -> list[Slot]:
    """The distinct words of a question, or of a list of keywords, in their order.

    Function words of a sentence count less. In a script without spaces pairs of characters count, single ones
    only a little beside them, and fully where they stand alone.
    """
    is_sentence = isinstance(query, str)
    texts = [query] if isinstance(query, str) else list(query)
    found: dict[str, Slot] = {}
    for text in texts:
        parts = words.pieces(text)
        content = words.content_tokens(text) if is_sentence else set[str]()
        for piece, unspaced in parts:
            for slot in _unspaced(piece) if unspaced else _spaced(piece):
                if is_sentence and _is_function(slot, content):
                    slot = replace(slot, factor=slot.factor * FUNCTION_WORD)
                known = found.get(slot.word)
                if known is None or (slot.selects and not known.selects):
                    found[slot.word] = slot
        if len(found) >= MAX_SLOTS:
            break
    return list(found.values())[:MAX_SLOTS]


def _is_function(slot: Slot, content: set[str]) -> bool:
    return slot.selects and slot.word not in content and not slot.word.isdigit()


def _spaced(piece: str) -> list[Slot]:
    piece = piece[:MAX_TERM_CHARS]
    bare = words.stem(piece)
    whole = Slot(piece, 1.0, True, True, ((piece, 1.0),))
    return [whole] if bare == piece else [whole, Slot(bare, 1.0, True, False, ((bare, 1.0),))]


def _unspaced(run: str) -> list[Slot]:
    if len(run) == 1:
        return [Slot(run, 1.0, True, False, ((run, 1.0),))]
    pairs = [a + b for a, b in zip(run, run[1:], strict=False)]
    singles = [ch for ch in run if ch.isalpha()]
    return [Slot(pair, 1.0, True, False, ((pair, 1.0),)) for pair in pairs] + [
        Slot(ch, SINGLE, False, False, ((ch, 1.0),)) for ch in singles
    ]


def idf(n_all: int, n_with: int) -> float:
    """How telling a term is that `n_with` of `n_all` memories hold (BM25's idf, > 0)."""
    n_with = min(n_with, n_all)
    return math.log(1 + (n_all - n_with + 0.5) / (n_with + 0.5))


def weigh(slots: Sequence[Slot], counts: Mapping[str, int], n_all: int) -> list[Slot]:
    """The slots with their weights, the most telling first; a slot weighs what its commonest option tells."""
    weighed = [
        replace(
            slot,
            weight=slot.factor
            * idf(n_all, max((counts.get(term, 0) for term, _ in slot.options), default=0)),
        )
        for slot in slots
    ]
    return sorted(weighed, key=lambda slot: (-slot.weight, slot.word))


@dataclass(frozen=True)
class Choice:
    """How candidates of one scope are found: by `rare` terms, each with its worth.

    Where all words are common: among the newest, those that hold several `common` ones, and by `heads`.
    """

    rare: tuple[tuple[str, float], ...]
    common: tuple[tuple[str, float], ...]
    heads: tuple[tuple[str, float], ...] = ()


def choose(
    slots: Sequence[Slot], counts: Mapping[str, int], n_scope: int, budget: int = BUDGET_ROWS
) -> Choice:
    """Rare terms first, while all the rows they bring stay within `budget`; else the common ones.

    `n_scope` is the number of memories in the scope, a better bound than the agent's count of a common word.
    """
    best: dict[str, float] = {}
    for slot in slots:
        for term, share in slot.options if slot.selects else ():
            for key in (term, HEAD + term):
                if counts.get(key, 0) > 0:
                    best[key] = max(best.get(key, 0.0), slot.weight * share)
    rows, rare, common = 0, [], []
    for term, worth in sorted(best.items(), key=_most_telling):
        rows_of_term = min(counts[term], n_scope)
        if rows + rows_of_term <= budget:
            rows += rows_of_term
            rare.append((term, worth))
        elif not term.startswith(HEAD):
            common.append((term, worth))
    if any(not term.startswith(HEAD) for term, _ in rare):
        return Choice(tuple(rare), tuple(common))
    return Choice((), tuple(common), tuple(rare))


def _most_telling(item: tuple[str, float]) -> tuple[float, str]:
    term, worth = item
    return -worth * (HEAD_SHARE if term.startswith(HEAD) else 1), term
