"""Real Celery processes: a ring's round trip, a worker killed at work, two beats."""

from __future__ import annotations

import json
import signal
from datetime import timedelta

import pytest
from django.db import connection
from django.utils.timezone import now
from django_celery_beat.models import PeriodicTask

from synth import background
from synth.models import EventHandling, Tick
from synth.tests.beat import processes
from synth.tests.outbox import helpers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PUBLISH = """
import structlog
from synth.tests.outbox import helpers
helpers.subscribe()
with structlog.contextvars.bound_contextvars(request_id="req-from-web"):
    helpers.publish(%d)
"""


@pytest.fixture(autouse=True)
def clean():
    processes.store().flushdb()
    PeriodicTask.objects.all().delete()
    background.ensure_ticks()
    yield
    processes.store().flushdb()


def handled() -> int:
    return EventHandling.objects.filter(status="handled").count()


def n_other_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def lines(path) -> list[dict[str, str]]:
    found = []
    for line in path.read_text().splitlines():
        if line.startswith("{"):
            found.append(json.loads(line))
    return found


def lives(role: str) -> bool:
    return any(processes.store().exists(key) for key in processes.store().keys(f"synth:alive:{role}:*"))


def test_a_ring_wakes_a_worker_that_handles_the_event_and_logs_the_request(tmp_path):
    log = tmp_path / "worker.log"
    with processes.worker(log, TEST_HANDLER_SAYS="1"):
        assert processes.wait_for(lambda: lives("worker")), log.read_text()
        processes.python(PUBLISH % 3)
        assert processes.wait_for(lambda: handled() == 3), log.read_text()
        assert processes.wait_for(lambda: n_other_connections() == 0), "an idle worker holds none"
    assert helpers.rows_by_event() == {f"event:{i}": 1 for i in range(3)}
    said = [line for line in lines(log) if line["event"] == "test_handler"]
    assert len(said) == 3
    assert all(line["request_id"] == "req-from-web" and line["task_id"] for line in said)


def test_a_worker_that_ends_well_takes_its_sign_down(tmp_path):
    log = tmp_path / "worker.log"
    with processes.worker(log) as process:
        assert processes.wait_for(lambda: lives("worker")), log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert not lives("worker")


def test_a_worker_asked_to_end_finishes_its_event_and_leaves_the_rest(tmp_path):
    log = tmp_path / "worker.log"
    with processes.worker(log, TEST_HANDLER_SLEEPS="1") as process:
        assert processes.wait_for(lambda: lives("worker")), log.read_text()
        processes.python(PUBLISH % 30)
        assert processes.wait_for(lambda: handled() >= 1), log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0, log.read_text()
    assert 1 <= handled() < 30
    assert not EventHandling.objects.filter(lease_until__isnull=False).exists()
    assert set(helpers.rows_by_event().values()) == {1}
    assert len(helpers.rows_by_event()) == handled()


def test_a_worker_killed_at_work_leaves_its_events_to_the_next(tmp_path):
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    with processes.worker(first, SYNTH_FAULT="outbox.handled.before:2") as process:
        assert processes.wait_for(lambda: lives("worker")), first.read_text()
        processes.python(PUBLISH % 4)
        assert process.wait(timeout=40) == -signal.SIGKILL
    assert handled() < 4
    # What the dead worker held comes back when its lease runs out; the test does not wait for the minute.
    EventHandling.objects.filter(status="waiting").update(lease_until=None, due_at=now())
    with processes.worker(second):
        processes.python("from synth.services import outbox; outbox.ring_handlers(['test.leave_a_row'])")
        assert processes.wait_for(lambda: handled() == 4), second.read_text()
    assert helpers.rows_by_event() == {f"event:{i}": 1 for i in range(4)}


def test_a_worker_refuses_a_fault_point_nobody_knows(tmp_path):
    log = tmp_path / "worker.log"
    with processes.worker(log, SYNTH_FAULT="nowhere") as process:
        assert process.wait(timeout=40) != 0
    assert "known points are" in log.read_text()


def test_two_beats_and_a_worker_tick_once_a_period_through_a_killed_leader(tmp_path):
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    with processes.beat(logs[0]) as one:
        sends = lambda log: log.read_text().count("Sending due task synth.drain_outbox")  # noqa: E731
        assert processes.wait_for(lambda: sends(logs[0]) == 1), logs[0].read_text()
        with processes.beat(logs[1]), processes.worker(tmp_path / "worker.log"):
            assert processes.wait_for(lambda: Tick.objects.filter(name="synth.drain_outbox").exists())
            assert processes.wait_for(lambda: len(processes.store().smembers("synth:alive:beat")) == 2)
            assert sends(logs[1]) == 0
            one.kill()
            assert processes.wait_for(lambda: "beat_became_leader" in logs[1].read_text(), seconds=10)
            assert sends(logs[1]) == 0, "this minute's tick was sent by the first"
            PeriodicTask.objects.update(last_run_at=now() - timedelta(minutes=5))
            row = PeriodicTask.objects.get(name="synth.drain_outbox")
            row.save()  # tells beat to read the schedule anew
            assert processes.wait_for(lambda: sends(logs[1]) == 1), logs[1].read_text()
