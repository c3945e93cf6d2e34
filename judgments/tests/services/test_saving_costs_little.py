"""Saving a run takes at most 3 ms on a connection that is open; opening one anew costs more than that."""

from __future__ import annotations

import statistics
import time

import pytest
from django.db import connection
from django.utils.timezone import now

from judgments import registry
from judgments.services import runs

pytestmark = pytest.mark.slow
N = 300


def median_ms(rain: str, *, is_reopened: bool) -> float:
    questions = registry.get(rain).questions or ()
    times = []
    for _ in range(N):
        draft = runs.Draft(rain, questions, {"text": "A boat and a garden. " * 40}, "on", now())
        draft.answers = {"q": {"type": "noul", "noul": 0.9}}
        if is_reopened:
            connection.close()
        began = time.perf_counter()
        assert runs.save(draft)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


@pytest.mark.django_db(transaction=True)
def test_saving_a_run_costs_at_most_three_milliseconds(rain: str) -> None:
    median_ms(rain, is_reopened=False)
    kept, reopened = median_ms(rain, is_reopened=False), median_ms(rain, is_reopened=True)
    print(f"{kept:.2f} ms on an open connection, {reopened:.2f} ms with a new one")
    assert kept <= 3
