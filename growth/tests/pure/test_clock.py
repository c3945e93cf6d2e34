"""The weekly clock: wall time in, instants out, one cycle a week."""

from datetime import UTC, date, datetime, time, timedelta

import pytest

from growth import clock


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize("value", ["Sunday", " sunday ", "SUNDAY", "\tSunDay\n"])
def test_a_full_weekday_in_any_case_is_read(value):
    assert clock.parse_weekday(value) == 6


@pytest.mark.parametrize("value", ["", "Sun", "domenica", "7", "Sundays", "Sun day", "Ｓunday"])
def test_any_other_weekday_is_refused(value):
    with pytest.raises(ValueError):
        clock.parse_weekday(value)


def test_the_edges_of_the_day_are_read():
    assert (clock.parse_time("00:00"), clock.parse_time("23:59")) == (time(0), time(23, 59))


@pytest.mark.parametrize("value", ["24:00", "3:00", "03:60", "03:00:00", "0300", "03.00", "٠٣:٠٠", "03:00 "])
def test_any_other_time_is_refused(value):
    with pytest.raises(ValueError):
        clock.parse_time(value)


@pytest.mark.parametrize("value", ["", "Mars/Base", "../etc/passwd", "/etc/localtime", "Europe"])
def test_an_unknown_zone_is_refused(value):
    with pytest.raises(ValueError):
        clock.zone_of(value)


def test_tokyo_sunday_night_is_saturday_in_utc():
    cycle = clock.next_cycle(utc(2026, 3, 4), 6, time(3), "Asia/Tokyo")
    assert (cycle.at, cycle.on) == (utc(2026, 3, 7, 18), date(2026, 3, 8))


@pytest.mark.parametrize(
    ("on", "at_time", "zone", "expected"),
    [
        (date(2026, 3, 29), time(2, 30), "Europe/Berlin", utc(2026, 3, 29, 1, 30)),  # gap: 03:30 local
        (date(2026, 10, 25), time(2, 30), "Europe/Berlin", utc(2026, 10, 25, 0, 30)),  # fold: the first
        (date(2025, 10, 5), time(2, 15), "Australia/Lord_Howe", utc(2025, 10, 4, 15, 45)),  # half an hour
        (date(2026, 4, 5), time(1, 45), "Australia/Lord_Howe", utc(2026, 4, 4, 14, 45)),
        (date(2018, 11, 4), time(0, 0), "America/Sao_Paulo", utc(2018, 11, 4, 3)),  # no midnight that day
        (date(2011, 12, 30), time(3), "Pacific/Apia", utc(2011, 12, 30, 13)),  # a date that never was
    ],
)
def test_gaps_and_folds_are_read_by_the_rule(on, at_time, zone, expected):
    assert clock.instant_of(on, at_time, zone) == expected


def test_a_time_in_the_spring_gap_fires_once_and_then_a_week_later():
    first = clock.next_cycle(utc(2026, 3, 28), 6, time(2, 30), "Europe/Berlin")
    second = clock.next_cycle(first.at, 6, time(2, 30), "Europe/Berlin", {first.week})
    assert (first.at, second.at) == (utc(2026, 3, 29, 1, 30), utc(2026, 4, 5, 0, 30))


def test_a_skipped_date_keeps_its_own_week():
    cycle = clock.next_cycle(utc(2011, 12, 28), 4, time(3), "Pacific/Apia")
    assert (cycle.on, cycle.week) == (date(2011, 12, 30), (2011, 52))


def test_the_next_cycle_is_strictly_later():
    at = clock.instant_of(date(2026, 3, 8), time(3), "UTC")
    assert clock.next_cycle(at, 6, time(3), "UTC").on == date(2026, 3, 15)


def test_a_day_moved_inside_a_week_that_ran_means_next_week():
    ran = clock.Cycle(utc(2026, 3, 3, 3), date(2026, 3, 3))
    moved = clock.replan(ran, utc(2026, 3, 3, 4), 6, time(3), "UTC", {ran.week})
    assert moved.on == date(2026, 3, 15)


def test_a_restart_keeps_a_cycle_that_is_overdue():
    planned = clock.Cycle(utc(2026, 3, 8, 3), date(2026, 3, 8))
    assert clock.replan(planned, utc(2026, 3, 8, 20), 6, time(3), "UTC") == planned


def test_a_restart_after_a_run_waits_for_next_week():
    planned = clock.Cycle(utc(2026, 3, 8, 3), date(2026, 3, 8))
    again = clock.replan(planned, utc(2026, 3, 8, 3, 0, 10), 6, time(3), "UTC", {planned.week})
    assert again.on == date(2026, 3, 15)


def test_moving_the_zone_keeps_the_intended_date():
    planned = clock.next_cycle(utc(2026, 3, 4), 6, time(3), "America/Los_Angeles")
    moved = clock.replan(planned, utc(2026, 3, 8, 9), 6, time(3), "Asia/Tokyo")
    assert moved == clock.Cycle(utc(2026, 3, 7, 18), date(2026, 3, 8))


def test_less_than_two_days_late_runs_and_more_is_missed():
    planned = clock.Cycle(utc(2026, 3, 8, 3), date(2026, 3, 8))
    late = clock.due_cycles(planned, utc(2026, 3, 10, 2, 59), 6, time(3), "UTC")[0]
    too_late = clock.due_cycles(planned, utc(2026, 3, 10, 3), 6, time(3), "UTC")[0]
    assert ([d.is_missed for d in late], [d.is_missed for d in too_late]) == ([False], [True])


def test_weeks_asleep_are_missed_one_by_one_and_the_last_may_run():
    planned = clock.Cycle(utc(2026, 3, 8, 3), date(2026, 3, 8))
    due, then = clock.due_cycles(planned, utc(2026, 3, 29, 4), 6, time(3), "UTC")
    assert [d.is_missed for d in due] == [True, True, True, False]
    assert then.on == date(2026, 4, 5)


def test_years_asleep_are_listed_in_bounded_portions():
    planned = clock.Cycle(utc(2020, 3, 8, 3), date(2020, 3, 8))
    due, then = clock.due_cycles(planned, utc(2026, 3, 8), 6, time(3), "UTC", limit=10)
    assert (len(due), then.on) == (10, date(2020, 3, 8) + timedelta(weeks=10))


def test_the_window_is_whole_local_days_without_today():
    seen = clock.window(utc(2026, 3, 7, 18), "Asia/Tokyo", 7)
    assert (seen.start, seen.end) == (utc(2026, 2, 28, 15), utc(2026, 3, 7, 15))
    assert (seen.dates[0], seen.dates[-1], len(seen.dates)) == (date(2026, 3, 1), date(2026, 3, 7), 7)


def test_the_window_of_a_spring_week_is_an_hour_short():
    seen = clock.window(utc(2026, 4, 1, 12), "Europe/Berlin", 7)
    assert seen.end - seen.start == timedelta(days=7) - timedelta(hours=1)


def test_a_date_that_never_was_is_not_in_the_window():
    seen = clock.window(utc(2012, 1, 1, 12), "Pacific/Apia", 4)
    assert date(2011, 12, 30) not in seen.dates
    assert seen.dates[-1] == date(2012, 1, 1)
