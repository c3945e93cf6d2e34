"""Kill −9 at every fault point of the outbox: a successor finishes, each event is handled exactly once."""

from __future__ import annotations

import signal

import pytest

from synth import faults
from synth.models import EventHandling
from synth.services import draining, outbox
from synth.tests.outbox import helpers

pytestmark = pytest.mark.django_db(transaction=True)
N_EVENTS = 5
POINTS = sorted(name for name in faults.KNOWN if name.startswith("outbox."))


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    monkeypatch.setattr(outbox, "HANDLERS", {})
    helpers.subscribe()


def assert_each_was_handled_once():
    assert helpers.rows_by_event() == {f"event:{i}": 1 for i in range(N_EVENTS)}
    assert set(EventHandling.objects.values_list("status", "lease_until")) == {("handled", None)}


def kill_then_finish(point: str, fails: str = "") -> None:
    helpers.publish(N_EVENTS)
    killed = helpers.drain_in_child(SYNTH_FAULT=point, TEST_HANDLER_FAILS=fails)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    # Waits of failed tries are over after two minutes, as is the dead process' lease.
    finished = helpers.drain_in_child(later_s=120)
    assert finished.returncode == 0, finished.stderr[-2000:]
    assert_each_was_handled_once()


def test_a_death_between_the_work_and_its_commit_undoes_both():
    kill_then_finish("outbox.handled.before:3")


@pytest.mark.slow
@pytest.mark.parametrize("nth", [1, 2, 4])
@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_any_point_loses_and_repeats_nothing(point, nth):
    kill_then_finish(f"{point}:{nth}", fails="1" if point == "outbox.failure.before" else "")


@pytest.mark.slow
def test_a_handler_that_always_takes_its_process_down_is_parked():
    helpers.publish(1)
    later_s = 0
    for _ in range(draining.MAX_TRIES):
        assert helpers.drain_in_child(SYNTH_FAULT="outbox.handled.before", later_s=later_s).returncode == -9
        later_s += 13 * 3600
    helpers.drain_in_child(SYNTH_FAULT="outbox.handled.before", later_s=later_s)
    row = EventHandling.objects.get()
    assert (row.status, row.error, row.n_failures) == ("parked", draining.DIED, draining.MAX_TRIES)
    assert helpers.rows_by_event() == {}


def test_an_unknown_fault_point_kills_nobody_at_a_declared_one():
    helpers.publish(1)
    assert helpers.drain_in_child(SYNTH_FAULT="outbox.nowhere").returncode == 0
    assert helpers.rows_by_event() == {"event:0": 1}
