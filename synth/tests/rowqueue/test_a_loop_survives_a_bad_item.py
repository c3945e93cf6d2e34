"""A loop over rows runs them all, whatever one of them raises, and stops at its deadline."""

from __future__ import annotations

import threading

from synth.rowqueue import deadline
from synth.rowqueue.deadline import Deadline, Tally, each


def test_one_bad_item_does_not_stop_the_others():
    done: list[int] = []

    def step(item: int) -> None:
        if item == 2:
            raise RuntimeError("bad row")
        done.append(item)

    assert each([1, 2, 3], step, Deadline(10), what="test") == Tally(n_done=2, n_failed=1, n_left=0)
    assert done == [1, 3]


def test_items_after_the_deadline_are_left():
    assert each([1, 2], lambda item: item, Deadline(0), what="test") == Tally(n_left=2)


def test_all_deadlines_are_over_when_the_process_ends(monkeypatch):
    monkeypatch.setattr(deadline, "_is_ending", threading.Event())
    limit = Deadline(10)
    assert not limit.is_over
    deadline.end_all()
    assert limit.is_over


def test_a_deadline_counts_down_to_zero():
    assert 9 < Deadline(10).remaining_s <= 10
    assert Deadline(-5).remaining_s == 0
    assert Deadline(-5).is_over
