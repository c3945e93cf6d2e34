"""Every zone of tzdata gets exactly one scheduled cycle a week, whatever ticks, restarts and clocks do."""

import random
import zoneinfo
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import clock

ZONES = sorted(zoneinfo.available_timezones())
START = datetime(2024, 12, 20, tzinfo=UTC)
YEARS = timedelta(days=735)


class Server:
    """A server reduced to what the clock needs: what is planned, which weeks have a row."""

    def __init__(self, zone: str, weekday: int, at_time: time) -> None:
        self.zone, self.weekday, self.at_time = zone, weekday, at_time
        self.rows: list[tuple[date, bool]] = []
        self.taken: set[clock.Week] = set()
        self.planned = clock.next_cycle(START, weekday, at_time, zone)

    def tick(self, now: datetime) -> None:
        if now < self.planned.at:
            return
        wish = (self.weekday, self.at_time, self.zone, self.taken)
        due, self.planned = clock.due_cycles(self.planned, now, *wish)
        for one in due:
            assert one.cycle.week not in self.taken, "a week ran twice"
            self.taken.add(one.cycle.week)
            self.rows.append((one.cycle.on, one.is_missed))

    def replan(self, now: datetime) -> None:
        self.planned = clock.replan(self.planned, now, self.weekday, self.at_time, self.zone, self.taken)

    def problem(self) -> str:
        days = [on for on, _ in self.rows]
        steps = {b - a for a, b in zip(days, days[1:], strict=False)}
        if steps - {timedelta(days=7)} or len(days) < 104 or any(d.weekday() != self.weekday for d in days):
            return f"{self.zone} {self.weekday} {self.at_time}: {len(days)} rows, steps {steps}"
        return ""


def random_time(rng: random.Random) -> time:
    # Half of the times lie where clocks change.
    return time(rng.choice((0, 1, 2, 3, rng.randrange(24))), rng.choice((0, 15, 30, rng.randrange(60))))


def live(server: Server, rng: random.Random, around: timedelta) -> None:
    """Two years of odd ticks, dense within `around` of the planned instant, with restarts in between."""
    now = START
    while now < START + YEARS:
        to_next = server.planned.at - now
        now += timedelta(seconds=rng.randint(30, 3600)) if to_next <= around else to_next - around
        server.tick(now)
        if rng.random() < 0.05:
            server.replan(now)


def test_every_zone_has_one_cycle_a_week_for_two_years():
    rng, problems = random.Random(7), []
    for zone in ZONES:
        server = Server(zone, rng.randrange(7), random_time(rng))
        live(server, rng, timedelta(hours=1))
        problems.append(server.problem())
        assert not any(missed for _, missed in server.rows)
    assert [p for p in problems if p] == []


def test_clock_steps_and_zone_moves_never_lose_or_double_a_week():
    rng, problems = random.Random(11), []
    for zone in rng.sample(ZONES, 120):
        server = Server(zone, rng.randrange(7), random_time(rng))
        now, drift = START, timedelta()
        while now < START + YEARS:
            now += timedelta(hours=rng.choice((1, 7, 13, 30)), seconds=rng.randrange(3600))
            chance = rng.random()
            if chance < 0.03:  # the machine's clock is wrong by up to two weeks for a while
                drift = timedelta(hours=rng.randint(-336, 336))
            elif chance < 0.10:
                drift = timedelta()
            elif chance < 0.13:
                server.zone = rng.choice(ZONES)
                server.replan(now + drift)
            elif chance < 0.20:
                server.replan(now + drift)
            server.tick(now + drift)
        problems.append(server.problem())
    assert [p for p in problems if p] == []


def test_two_beats_that_share_the_rows_run_a_week_once():
    one = Server("Europe/Rome", 6, time(2, 30))
    two = Server("Europe/Rome", 6, time(2, 30))
    two.taken = one.taken
    two.rows = one.rows
    for hours in range(0, 24 * 735, 5):
        one.tick(START + timedelta(hours=hours))
        two.replan(START + timedelta(hours=hours))
        two.tick(START + timedelta(hours=hours, minutes=1))
    assert one.problem() == ""


@pytest.mark.slow
def test_every_zone_and_weekday_with_denser_ticks():
    rng, problems = random.Random(23), []
    for zone in ZONES:
        for weekday in range(7):
            server = Server(zone, weekday, random_time(rng))
            live(server, rng, timedelta(hours=4))
            problems.append(server.problem())
    assert [p for p in problems if p] == []


@given(
    zone=st.sampled_from(ZONES),
    after=st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),
    weekday=st.integers(0, 6),
    at_time=st.times().map(lambda t: t.replace(second=0, microsecond=0)),
)
def test_the_next_cycle_is_later_on_the_weekday_and_within_nine_days(zone, after, weekday, at_time):
    cycle = clock.next_cycle(after, weekday, at_time, zone)
    assert after < cycle.at <= after + timedelta(days=9)
    assert cycle.on.weekday() == weekday


@given(
    zone=st.sampled_from(ZONES),
    at=st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),
    days=st.integers(1, 60),
)
def test_windows_of_following_days_share_their_edges(zone, at, days):
    seen = clock.window(at, zone, days)
    assert seen.start < seen.end <= at + timedelta(hours=2)
    assert clock.local_date(seen.start, zone) == seen.dates[0]
    assert clock.local_date(seen.end - timedelta(seconds=1), zone) == seen.dates[-1]
    assert days - 1 <= len(seen.dates) <= days
