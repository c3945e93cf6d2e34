"""Rows of tokens written as one tree: each sees itself and nothing of its neighbours."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("torch")

from judgments.ml.packing import pack, parts  # noqa: E402

pytestmark = pytest.mark.torch


def read(packed, n: int) -> list[int]:
    """The tokens that the end of row n sees, in their places."""
    at = packed.sees[packed.ends[n]].nonzero().flatten().tolist()
    assert packed.places[at].tolist() == list(range(len(at)))
    found: list[int] = packed.ids[at].tolist()
    return found


def some(n: int) -> list[list[int]]:
    rng = random.Random(n)
    return [[rng.randrange(3) for _ in range(rng.randrange(1, 7))] for _ in range(n)]


@pytest.mark.parametrize("n", [1, 2, 30, 200])
def test_the_end_of_each_row_sees_the_row(n):
    rows = some(n)
    packed = pack(rows)
    assert [read(packed, k) for k in range(n)] == rows


def test_a_beginning_in_common_stands_once():
    assert len(pack([[1, 2, 3], [1, 2], [1, 2, 4], [1, 2, 3]]).ids) == 4


def test_parts_hold_every_row_and_keep_to_the_budget():
    rows = some(120)
    found = parts(rows, 20)
    assert sorted(n for part in found for n in part) == list(range(120))
    assert all(len(pack([rows[n] for n in part]).ids) <= 20 for part in found)
    assert len(found) < 40


def test_a_row_over_the_budget_is_a_part_of_its_own():
    assert parts([[1] * 9, [2], [3] * 9], 4) == [[0], [1], [2]]
