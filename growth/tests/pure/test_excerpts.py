"""Concrete lines spread over the days, and the newest days whole within a budget."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from growth.excerpts import Entry, budget, excerpts

MONDAY = date(2026, 3, 2)


def entry(n, text, day=None):
    return Entry(n, MONDAY + timedelta(days=n if day is None else day), text)


def test_excerpts_are_verbatim_and_spread_over_the_days():
    busy = [
        entry(n, f"Jay painted boat number {n} in the harbour of Lisbon with Ana.", day=0) for n in range(20)
    ]
    quiet = [entry(30, "Rain fell on the tin roof all afternoon.", day=3)]
    found = excerpts([*busy, *quiet])
    assert len(found) == 8
    assert found[-1].text == "Rain fell on the tin roof all afternoon."


def test_more_days_than_places_keep_the_strongest_lines():
    found = excerpts(
        [entry(n, "Nothing." if n % 2 else f"Met Jay at pier {n} and laughed.") for n in range(20)]
    )
    assert all("Jay" in one.text for one in found) and len(found) == 8


def test_no_diary_gives_no_excerpts():
    assert excerpts([]) == [] == excerpts([entry(1, "Rain fell here.")], limit=0)


def test_the_newest_days_are_kept_whole():
    week = [entry(n, "x" * 100) for n in range(7)]
    kept = budget(week, 250)
    assert [one.id for one in kept.kept] == [5, 6]
    assert (kept.n_left_out, kept.chars_left_out) == (5, 500)


def test_a_day_is_kept_whole_or_not_at_all():
    kept = budget([entry(1, "a" * 60, 1), entry(2, "b" * 60, 1), entry(3, "c" * 60, 2)], 130)
    assert [one.id for one in kept.kept] == [3]


def test_a_newest_day_that_is_too_long_is_cut():
    kept = budget([entry(1, "a" * 100, 1), entry(2, "b" * 100, 1)], 130)
    assert [len(one.content) for one in kept.kept] == [30, 100]
    assert (kept.n_left_out, kept.chars_left_out) == (0, 70)


@given(st.lists(st.tuples(st.integers(0, 8), st.text(max_size=30)), max_size=12), st.integers(0, 200))
def test_what_is_kept_fits_and_what_is_not_is_counted(rows, room):
    entries = sorted((entry(n, text, day) for n, (day, text) in enumerate(rows)), key=lambda e: (e.on, e.id))
    kept = budget(entries, room)
    assert sum(len(one.content) for one in kept.kept) <= room
    assert len(kept.kept) + kept.n_left_out == len(entries)
    assert list(kept.kept) == sorted(kept.kept, key=lambda e: (e.on, e.id))
