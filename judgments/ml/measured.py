"""Numbers about a reader on labelled rows: accuracy, majority, calibration, AUROC, coverage. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judgments.dial import error_budget

BUDGET = 0.05  # the share of wrong answers that coverage is said for
N_BINS = 15


@dataclass(frozen=True)
class Outcome:
    """One answered row: the label and its place, the language, and a probability an option."""

    label: str
    language: str
    p: list[float]
    right: int

    @property
    def is_right(self) -> bool:
        """Whether the likeliest option is the right one."""
        return max(range(len(self.p)), key=self.p.__getitem__) == self.right


def metrics(found: Sequence[Outcome], *, is_score: bool = False) -> dict[str, Any]:
    """The numbers of a model card, rounded to three decimals.

    `coverage`: the largest share of answers, the surest first, of which at most 5 % are wrong, and `from_p`
    the probability it begins at. A score has
    `distance` too, the mean number of levels its expected value is away from the right one.
    """
    if not found:
        return {"n_test": 0}
    labels = [one.label for one in found]
    languages = sorted({one.language for one in found})
    by_language = {code: [one.is_right for one in found if one.language == code] for code in languages}
    numbers: dict[str, Any] = {
        "n_test": len(found),
        "accuracy": _share([one.is_right for one in found]),
        "majority": round(max(map(labels.count, set(labels))) / len(labels), 3),
        "brier": round(sum(_brier(one) for one in found) / len(found), 3),
        "ece": round(ece([(max(one.p), one.is_right) for one in found]), 3),
        "by_language": {code: [_share(right), len(right)] for code, right in by_language.items()},
    }
    dial = error_budget([(max(one.p), not one.is_right) for one in found], BUDGET, resamples=0)
    numbers |= {"coverage": round(dial.coverage, 3), "from_p": dial.threshold}
    if is_score:
        numbers["distance"] = round(sum(_distance(one) for one in found) / len(found), 3)
    elif all(len(one.p) == 2 for one in found):
        numbers["auroc"] = round(auroc([(one.p[0], one.right == 0) for one in found]), 3)
    return numbers


def ece(pairs: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error of (confidence, right) in 15 bins."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for p, is_right in pairs:
        bins.setdefault(min(N_BINS - 1, int(p * N_BINS)), []).append((p, is_right))
    return sum(abs(sum(p for p, _ in one) - sum(ok for _, ok in one)) for one in bins.values()) / len(pairs)


def auroc(pairs: Sequence[tuple[float, bool]]) -> float:
    """How often a yes scores above a no; 0.5 where one of them is missing."""
    yes, no = ([p for p, is_yes in pairs if is_yes is wanted] for wanted in (True, False))
    if not yes or not no:
        return 0.5
    return sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no))


def _brier(one: Outcome) -> float:
    return sum((p - (n == one.right)) ** 2 for n, p in enumerate(one.p)) / 2


def _distance(one: Outcome) -> float:
    return abs(sum(n * p for n, p in enumerate(one.p)) - one.right)


def _share(right: Sequence[bool]) -> float:
    return round(sum(right) / max(1, len(right)), 3)
