"""Where the marks of a report's drawings stand, in units of a square of 100 × 100, y downwards. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SIZE = 100.0


def histogram_bars(counts: Sequence[int]) -> list[dict[str, Any]]:
    """A bar a bin: x, width, y of its top, height, the count, the range it stands for."""
    most, n = max(counts, default=0), len(counts)
    width = SIZE / n if n else SIZE
    bars = []
    for at, count in enumerate(counts):
        height = SIZE * count / most if most else 0.0
        bars.append(
            {
                "x": round(at * width + 0.5, 2),
                "width": round(width - 1, 2),
                "y": round(SIZE - height, 2),
                "height": round(height, 2),
                "n": count,
                "low": f"{at / n:.1f}",
                "high": f"{(at + 1) / n:.1f}",
            }
        )
    return bars


def reliability_points(bins: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A point a bin with answers: what was said (x), what came true (y, downwards), size by how many."""
    most = max((one["n"] for one in bins), default=0)
    points = []
    for one in bins:
        if not one["n"]:
            continue
        points.append(
            {
                "x": round(one["p_mean"] * SIZE, 2),
                "y": round(SIZE - one["share"] * SIZE, 2),
                "r": round(1.5 + 3.5 * (one["n"] / most) ** 0.5, 2),
                "said": f"{one['p_mean']:.2f}",
                "true": f"{one['share']:.2f}",
                "n": one["n"],
            }
        )
    return points
