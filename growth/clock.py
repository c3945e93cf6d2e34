"""When an agent reflects: weekly wall-clock intents as UTC instants, and the local days it looks back on.

The intent (weekday, time, zone) is the truth; an instant is only derived from it. A week is named by the ISO
year and week of the *intended* local date, so each week has at most one scheduled cycle whatever clocks do.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MISFIRE_GRACE = timedelta(hours=48)
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")

Week = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cycle:
    """One intended weekly reflection: the UTC instant and the local date it stands for."""

    at: datetime
    on: date

    @property
    def week(self) -> Week:
        """ISO (year, week) of the intended local date."""
        return week_of(self.on)


@dataclass(frozen=True, slots=True)
class Due:
    """A cycle whose instant has come; `is_missed` when it is too late to run it."""

    cycle: Cycle
    is_missed: bool


def week_of(on: date) -> Week:
    """ISO (year, week) of a local date."""
    year, week, _ = on.isocalendar()
    return year, week


def week_label(week: Week) -> str:
    """The week as rows store it, such as "2026-W09"."""
    return f"{week[0]:04d}-W{week[1]:02d}"


def parse_weekday(value: str) -> int:
    """Monday = 0 … Sunday = 6 from a full English name in any case; ValueError for anything else."""
    name = value.strip().lower()
    if name not in WEEKDAYS:
        raise ValueError("expected a full English weekday such as Sunday")
    return WEEKDAYS.index(name)


def parse_time(value: str) -> time:
    """The wall time in HH:MM, 00:00 to 23:59; ValueError for anything else."""
    found = _TIME.fullmatch(value)
    if found is None:
        raise ValueError("expected a time as HH:MM between 00:00 and 23:59")
    return time(int(found[1]), int(found[2]))


def zone_of(name: str) -> ZoneInfo:
    """The zone named by an IANA key; ValueError when this machine's tzdata has no such zone."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("expected an IANA time zone such as Europe/Rome") from error


def instant_of(on: date, at_time: time, zone: str) -> datetime:
    """UTC instant of a wall time on a local date.

    Inside a gap the offset before the gap is used (RFC 5545: 02:30 becomes 03:30); inside a fold the first
    of the two instants is meant. Python's fold=0 means exactly both.
    """
    return datetime.combine(on, at_time.replace(fold=0), tzinfo=zone_of(zone)).astimezone(UTC)


def local_date(at: datetime, zone: str) -> date:
    """The calendar date an aware instant has in `zone`."""
    return at.astimezone(zone_of(zone)).date()


def next_cycle(
    after: datetime, weekday: int, at_time: time, zone: str, taken_weeks: Collection[Week] = ()
) -> Cycle:
    """The first cycle strictly later than `after` whose week is not in `taken_weeks`."""
    # A gap can push a wall time onto the following date, so the search starts a little early.
    on = local_date(after, zone) - timedelta(days=2)
    on += timedelta(days=(weekday - on.weekday()) % 7)
    while True:
        cycle = Cycle(instant_of(on, at_time, zone), on)
        if cycle.at > after and cycle.week not in taken_weeks:
            return cycle
        on += timedelta(days=7)


def replan(
    planned: Cycle | None,
    now: datetime,
    weekday: int,
    at_time: time,
    zone: str,
    taken_weeks: Collection[Week] = (),
) -> Cycle:
    """The cycle to wait for after a start-up or after a setting, zone or claim changed something.

    A planned date that still fits the weekday and whose week has not run is kept, at its instant in the
    zone and time of now: overdue work survives a restart, and moving the zone never loses a week. A changed
    weekday counts from `now`, so a day moved inside a week that already ran means next week.
    """
    if planned is None or planned.on.weekday() != weekday:
        return next_cycle(now, weekday, at_time, zone, taken_weeks)
    kept = Cycle(instant_of(planned.on, at_time, zone), planned.on)
    if kept.week in taken_weeks:
        return next_cycle(kept.at, weekday, at_time, zone, taken_weeks)
    return kept


def is_missed(at: datetime, now: datetime, grace: timedelta = MISFIRE_GRACE) -> bool:
    """True when a cycle meant for `at` is too late to be run at `now` (`grace` or more)."""
    return now - at >= grace


def due_cycles(
    planned: Cycle,
    now: datetime,
    weekday: int,
    at_time: time,
    zone: str,
    taken_weeks: Collection[Week] = (),
    limit: int = 60,
) -> tuple[list[Due], Cycle]:
    """Cycles from `planned` on whose instant has come, oldest first, and the cycle to wait for next.

    At most `limit` are listed (a server asleep for years); older calls then continue from the returned one.
    """
    due: list[Due] = []
    cycle = planned
    if cycle.week in taken_weeks:
        cycle = next_cycle(cycle.at, weekday, at_time, zone, taken_weeks)
    taken = set(taken_weeks)
    while cycle.at <= now and len(due) < limit:
        due.append(Due(cycle, is_missed(cycle.at, now)))
        taken.add(cycle.week)
        cycle = next_cycle(cycle.at, weekday, at_time, zone, taken)
    return due, cycle


class Window(NamedTuple):
    """Whole local days: the half-open UTC span [start, end) and its dates, oldest first."""

    start: datetime
    end: datetime
    dates: tuple[date, ...]


def window(at: datetime, zone: str, days: int) -> Window:
    """The `days` whole local days before the local date of `at`; that date itself is left out.

    A date that never happened in the zone (Samoa, 30 December 2011) is not listed.
    """
    today = local_date(at, zone)
    edges = [today - timedelta(days=n) for n in range(days, -1, -1)]
    starts = [instant_of(on, time(0), zone) for on in edges]
    real = (on for on, a, b in zip(edges, starts, starts[1:], strict=False) if a < b)
    return Window(starts[0], starts[-1], tuple(real))
