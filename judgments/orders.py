"""Choices asked in several option orders: the orders, the average, and how much the order moved it. Pure."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judgments.questions import Question
from judgments.typed import likeliest


@dataclass(frozen=True)
class Averaged:
    """`probabilities` in the order of the question.

    `instability`: the mean total-variation distance of one order from the
    average, 0..1. `flips`: the share of orders whose likeliest option is another one.
    """

    probabilities: dict[str, float]
    instability: float
    flips: float
    n_orders: int


def option_orders(question: Question, n: int) -> list[Question]:
    """Up to `n` wordings of a choice that differ in option order only, the first as it is, all different.

    They depend on the options alone: the same choice is always asked in the same orders. Other types: one.
    """
    names = list(question.options)
    if question.type != "choice" or len(names) < 2:
        return [question]
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()
    rng = random.Random(digest)  # noqa: S311 - an order, nothing secret
    orders = [names]
    tries = [names[::-1]] + [rng.sample(names, len(names)) for _ in range(4 * n)]
    for order in tries:
        if len(orders) < n and order not in orders:
            orders.append(order)
    return [replace(question, criteria={name: question.criteria[name] for name in order}) for order in orders]


def spread(questions: Sequence[Question], n: int) -> tuple[list[Question], dict[str, list[str]]]:
    """The questions, each choice in up to `n` option orders; and the ids a choice has then, its own first."""
    asked: list[Question] = []
    copies: dict[str, list[str]] = {}
    taken = {question.id for question in questions}
    for question in questions:
        first, *others = option_orders(question, n)
        asked.append(first)
        for k, other in enumerate(others, 2):
            name = _free(f"{question.id}~{k}", taken)
            taken.add(name)
            asked.append(replace(other, id=name))
            copies.setdefault(question.id, [question.id]).append(name)
    return asked, copies


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "~"
    return name


def average(found: Sequence[Mapping[str, float]]) -> Averaged:
    """The mean of one choice over its orders. ValueError without any, or when the options differ."""
    if not found or any(set(one) != set(found[0]) for one in found):
        raise ValueError("the orders must have the same options")
    n = len(found)
    mean = {name: sum(one[name] for one in found) / n for name in found[0]}
    top = likeliest(mean)
    distances = [sum(abs(one[name] - p) for name, p in mean.items()) / 2 for one in found]
    flips = sum(likeliest(one) != top for one in found) / n
    return Averaged(mean, sum(distances) / n, flips, n)
