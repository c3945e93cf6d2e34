"""Of two beats one ticks; the other takes over when it goes, and no tick is sent twice in a period."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils.timezone import now
from django_celery_beat.models import PeriodicTask

from synth import background, liveness
from synth.beat import LOCK, LeaderScheduler, Leadership
from synth.celery import app

pytestmark = pytest.mark.django_db(transaction=True)


class SilentProducer:
    pass


class Beat(LeaderScheduler):
    """A beat that notes what it would send."""

    producer = SilentProducer()

    def __init__(self):
        self.sent: list[str] = []
        super().__init__(app=app, lazy=False)

    def send_task(self, name, *args, **kwargs):
        self.sent.append(name)

    def run(self, times: int = 6) -> list[str]:
        """Tick until nothing is due; what was sent in these calls."""
        before = len(self.sent)
        for _ in range(times):
            if self.tick() > 0:
                break
        return sorted(self.sent[before:])


@pytest.fixture
def beats(monkeypatch):
    monkeypatch.setattr(background, "TICKS", {})
    PeriodicTask.objects.all().delete()
    background.register_tick("test.one", "test.tasks.one")
    background.register_tick("test.two", "test.tasks.two")
    background.ensure_ticks()
    made: list[Beat] = []

    def make() -> Beat:
        made.append(Beat())
        return made[-1]

    yield make
    for beat in made:
        beat.leadership.give_up()
        beat._finalize.cancel()
    liveness.leave("beat")


ALL = ["test.tasks.one", "test.tasks.two"]


def test_ticks_are_sent_at_once_and_then_once_a_minute(beats, time_machine):
    start = now()
    time_machine.move_to(start, tick=False)
    beat = beats()
    assert beat.run() == ALL
    time_machine.move_to(start + timedelta(seconds=30), tick=False)
    assert beat.run() == []
    time_machine.move_to(start + timedelta(seconds=61), tick=False)
    assert beat.run() == ALL


def test_the_second_beat_stands_by(beats):
    first, second = beats(), beats()
    assert first.run() == ALL
    assert second.run() == []
    assert first.leadership.is_leader and not second.leadership.is_leader


def test_two_beats_send_each_tick_once_a_period_over_many_failovers(beats, time_machine):
    start = now()
    time_machine.move_to(start, tick=False)
    pair = [beats(), beats()]
    for minute in range(6):
        time_machine.move_to(start + timedelta(seconds=61 * minute), tick=False)
        sent = [name for _ in range(2) for beat in pair for name in beat.run()]
        assert sorted(sent) == ALL, f"minute {minute}"
        leader = next(beat for beat in pair if beat.leadership.is_leader)
        leader.leadership.give_up()
        pair.reverse()


def test_a_standby_takes_over_when_the_leader_s_connection_goes(beats):
    first, second = beats(), beats()
    first.run()
    assert second.run() == []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'synth-beat-leader' "
            "AND pid = ANY(SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)"
        )
    second.tick()
    assert second.leadership.is_leader
    first.tick()
    assert not first.leadership.is_leader
    assert second.run() == [], "the minute's ticks were sent by the first"


def test_after_a_long_downtime_each_tick_fires_once_at_once(beats):
    PeriodicTask.objects.update(last_run_at=now() - timedelta(days=3))
    assert beats().run() == ALL


@pytest.mark.parametrize("step", [timedelta(hours=3), timedelta(days=400)])
def test_a_clock_set_back_does_not_silence_ticks(beats, time_machine, step):
    start = now()
    time_machine.move_to(start, tick=False)
    beat = beats()
    assert beat.run() == ALL
    time_machine.move_to(start - step, tick=False)
    assert beat.run() == ALL
    time_machine.move_to(start - step + timedelta(seconds=30), tick=False)
    assert beat.run() == []
    time_machine.move_to(start - step + timedelta(seconds=61), tick=False)
    assert beat.run() == ALL


def test_a_clock_set_forward_sends_each_tick_once(beats, time_machine):
    start = now()
    time_machine.move_to(start, tick=False)
    beat = beats()
    assert beat.run() == ALL
    time_machine.move_to(start + timedelta(days=30), tick=False)
    assert beat.run() == ALL
    assert beat.run() == []


def test_an_admin_s_change_reaches_a_running_beat(beats):
    beat = beats()
    beat.run()
    row = PeriodicTask.objects.get(name="test.one")
    row.enabled = False
    row.save()
    PeriodicTask.objects.filter(name="test.two").update(last_run_at=now() - timedelta(minutes=2))
    beat.run()
    assert "test.one" not in beat.schedule


def test_the_lock_is_a_session_lock_on_its_own_connection():
    leadership = Leadership()
    assert leadership.holds()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
            assert cursor.fetchone() == (False,)
        assert leadership.holds()
    finally:
        leadership.give_up()
    other = Leadership()
    assert other.holds()
    other.give_up()


def test_of_many_contenders_one_leads():
    leaders: list[Leadership] = []
    contenders = [Leadership() for _ in range(6)]

    def contend(mine: Leadership) -> None:
        if mine.holds():
            leaders.append(mine)
        connection.close()

    threads = [threading.Thread(target=contend, args=(mine,)) for mine in contenders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(leaders) == 1
    for contender in contenders:
        contender.give_up()


def test_a_database_that_is_away_makes_a_standby_not_a_crash(beats, monkeypatch):
    beat = beats()
    beat.run()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    beat.leadership.give_up()
    assert beat.tick() == 2.0
    assert not beat.leadership.is_leader


def test_beats_show_that_they_live(beats):
    beat = beats()
    beat.run()
    assert list(liveness.alive("beat").values()) == ["leader"]
    beat.close()
    assert liveness.alive("beat") == {}
