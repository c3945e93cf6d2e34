"""How good probabilities were, once it is known what came of them: accuracy, Brier, calibration. Pure.

A pair is (p, outcome): the probability that was given, and whether it came true. Bins have equal width over
0..1; 1.0 falls in the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Pair = tuple[float, bool]
ECE_BINS = 15
HISTOGRAM_BINS = 10


@dataclass(frozen=True)
class Reliability:
    """One bin of the diagram: `p_mean` is what was said, `share` what came true. Empty bins have neither."""

    low: float
    high: float
    n: int
    p_mean: float | None
    share: float | None


@dataclass(frozen=True)
class Calibration:
    """All figures of one set of pairs."""

    n: int
    accuracy: float
    brier: float
    ece: float
    reliability: tuple[Reliability, ...]


def bin_of(p: float, bins: int) -> int:
    """The bin of a probability: 0 .. bins − 1."""
    return min(int(p * bins), bins - 1)


def histogram(probabilities: Iterable[float], bins: int = HISTOGRAM_BINS) -> list[int]:
    """Counts by bin."""
    counts = [0] * bins
    for p in probabilities:
        counts[bin_of(p, bins)] += 1
    return counts


def accuracy(pairs: Sequence[Pair]) -> float:
    """The share where p ≥ 0.5 said what came true. ValueError without pairs, as all of these."""
    return sum((p >= 0.5) == outcome for p, outcome in _some(pairs)) / len(pairs)


def brier(pairs: Sequence[Pair]) -> float:
    """The mean squared distance of p from what came true: 0 is best, 0.25 is always saying one half."""
    return sum((p - outcome) ** 2 for p, outcome in _some(pairs)) / len(pairs)


def reliability(pairs: Sequence[Pair], bins: int = ECE_BINS) -> tuple[Reliability, ...]:
    """The points of the reliability diagram, one a bin."""
    said: list[list[float]] = [[] for _ in range(bins)]
    true = [0] * bins
    for p, outcome in pairs:
        n = bin_of(p, bins)
        said[n].append(p)
        true[n] += outcome
    points = []
    for n, (found, hits) in enumerate(zip(said, true, strict=True)):
        size = len(found)
        mean, share = (sum(found) / size, hits / size) if size else (None, None)
        points.append(Reliability(n / bins, (n + 1) / bins, size, mean, share))
    return tuple(points)


def ece(pairs: Sequence[Pair], bins: int = ECE_BINS) -> float:
    """Expected calibration error: the mean distance between said and came true, weighted by bin size."""
    _some(pairs)
    return _ece(reliability(pairs, bins), len(pairs))


def calibration(pairs: Sequence[Pair], bins: int = ECE_BINS) -> Calibration:
    """Every figure at once."""
    points = reliability(_some(pairs), bins)
    return Calibration(len(pairs), accuracy(pairs), brier(pairs), _ece(points, len(pairs)), points)


def certainties(pairs: Iterable[Pair]) -> list[Pair]:
    """(certainty, was wrong) of yes-or-no answers: how sure the likelier side was, and whether it failed."""
    return [(max(p, 1 - p), (p >= 0.5) != outcome) for p, outcome in pairs]


def _ece(points: Iterable[Reliability], n: int) -> float:
    return (
        sum(b.n * abs(b.p_mean - b.share) for b in points if b.p_mean is not None and b.share is not None) / n
    )


def _some(pairs: Sequence[Pair]) -> Sequence[Pair]:
    if not pairs:
        raise ValueError("no labelled answers")
    return pairs
