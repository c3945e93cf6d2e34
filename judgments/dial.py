"""The error-budget dial: from which certainty on answers may be acted on with at most so many wrong. Pure.

For "at most 5 % wrong" it finds the threshold that covers the most answers while the wrong ones among them
stay within the budget, and says how sure that is by bootstrap. The same seed gives the same interval.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_GRID = 1_000  # certainties are told apart to 0.001
_POISSON_EXACT = 30.0  # above this mean the normal approximation is close enough

# (certainty on the grid, answers there, wrong ones), most certain first
Cell = tuple[int, int, int]


@dataclass(frozen=True)
class Interval:
    """The middle 95 % of the bootstrap."""

    low: float
    high: float


@dataclass(frozen=True)
class Dial:
    """`threshold` None: no threshold keeps the budget, and coverage is 0. `coverage`: share at or above it.

    `coverage_interval` is how much the coverage at this budget varies; `wrong_interval` how much the share
    of wrong answers at this threshold does.
    """

    budget: float
    n: int
    threshold: float | None
    coverage: float
    wrong: float | None
    coverage_interval: Interval | None = None
    wrong_interval: Interval | None = None


def error_budget(
    found: Sequence[tuple[float, bool]], budget: float = 0.05, *, resamples: int = 200, seed: int = 0
) -> Dial:
    """The dial for (certainty 0..1, was wrong) pairs. ValueError for a budget outside 0..1."""
    if not 0 <= budget <= 1:
        raise ValueError("a budget is a share between 0 and 1")
    if not found:
        return Dial(budget, 0, None, 0.0, None)
    cells = _cells(found)
    threshold, coverage, wrong = _best(cells, budget)
    rng = random.Random(seed)  # noqa: S311 - a bootstrap, nothing secret
    coverages, wrongs = [], []
    for _ in range(resamples):
        again = [_drawn(cell, rng) for cell in cells]
        coverages.append(_best(again, budget)[1])
        if threshold is not None and (share := _wrong_from(again, threshold)) is not None:
            wrongs.append(share)
    return Dial(
        budget,
        len(found),
        None if threshold is None else threshold / _GRID,
        coverage,
        wrong,
        _interval(coverages),
        _interval(wrongs),
    )


def _cells(found: Iterable[tuple[float, bool]]) -> list[Cell]:
    counts: dict[int, list[int]] = {}
    for certainty, is_wrong in found:
        # Rounded down, so that every counted answer really is at or above the threshold shown.
        cell = counts.setdefault(math.floor(certainty * _GRID + 1e-9), [0, 0])
        cell[0] += 1
        cell[1] += is_wrong
    return [(key, *counts[key]) for key in sorted(counts, reverse=True)]  # type: ignore[misc]


def _best(cells: Sequence[Cell], budget: float) -> tuple[int | None, float, float | None]:
    """The lowest threshold within the budget, its coverage and its share of wrong answers."""
    total = sum(n for _, n, _ in cells)
    n = n_wrong = 0
    best: tuple[int | None, float, float | None] = (None, 0.0, None)
    for key, size, wrong in cells:
        n, n_wrong = n + size, n_wrong + wrong
        if size and n_wrong <= budget * n:
            best = (key, n / total, n_wrong / n)
    return best


def _wrong_from(cells: Iterable[Cell], threshold: int) -> float | None:
    above = [(n, wrong) for key, n, wrong in cells if key >= threshold]
    n = sum(size for size, _ in above)
    return sum(wrong for _, wrong in above) / n if n else None


def _drawn(cell: Cell, rng: random.Random) -> Cell:
    """The cell as another sample might have it: a Poisson bootstrap needs one draw a count, not one a row."""
    key, n, wrong = cell
    right, bad = _poisson(n - wrong, rng), _poisson(wrong, rng)
    return key, right + bad, bad


def _poisson(mean: float, rng: random.Random) -> int:
    if mean > _POISSON_EXACT:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, n, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        n, product = n + 1, product * rng.random()
    return n


def _interval(values: list[float]) -> Interval | None:
    if not values:
        return None
    ordered = sorted(values)
    last = len(ordered) - 1
    return Interval(ordered[round(last * 0.025)], ordered[round(last * 0.975)])
