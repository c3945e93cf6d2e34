"""Whether a known word may be what somebody meant by an unknown one. Pure."""

from __future__ import annotations

MIN_CHARS = 4
MIN_STEM = 4


def variants(word: str) -> list[str]:
    """`word` with two neighbours swapped, or one letter dropped: slips that share few trigrams with it."""
    swapped = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]
    dropped = [word[:i] + word[i + 1 :] for i in range(len(word))]
    return sorted(set(swapped + dropped) - {word})


def distance(a: str, b: str, limit: int) -> int:
    """Edits between two words (insert, drop, replace, swap neighbours); `limit + 1` when there are more."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def closeness(word: str, known: str) -> float:
    """0 when `known` is another word; else up to 0.8 by how little must change, or the shared stem."""
    limit = 1 if len(word) < 8 else 2
    edits = distance(word, known, limit)
    if edits <= limit:
        return 0.8 if edits <= 1 else 0.65
    shared = next(
        (i for i, (x, y) in enumerate(zip(word, known, strict=False)) if x != y), min(len(word), len(known))
    )
    longer = max(len(word), len(known))
    return 0.6 * shared / longer if shared >= MIN_STEM and shared >= 0.6 * longer else 0.0
