"""Registered ticks become rows an admin may change; each run of a tick by beat leaves its times."""

from __future__ import annotations

import pytest
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from synth import background
from synth.models import Tick

pytestmark = pytest.mark.django_db


class FakeTask:
    def __init__(self, **request):
        self.request = type("Request", (), request)()


@pytest.fixture
def ticks(monkeypatch):
    monkeypatch.setattr(background, "TICKS", {})
    PeriodicTask.objects.all().delete()
    background.register_tick("test.minute", "test.tasks.minute")
    background.register_tick("test.hour", "test.tasks.hour", every_s=3600)


def test_missing_rows_are_made_and_are_due_at_once(ticks):
    background.ensure_ticks()
    row = PeriodicTask.objects.get(name="test.minute")
    assert (row.task, row.enabled, row.expire_seconds) == ("test.tasks.minute", True, 60)
    assert row.interval.schedule.run_every.total_seconds() == 60
    assert row.schedule.is_due(row.last_run_at).is_due
    assert PeriodicTask.objects.get(name="test.hour").interval.every == 3600


def test_what_an_admin_changed_stays(ticks):
    background.ensure_ticks()
    slower = IntervalSchedule.objects.create(every=5, period=IntervalSchedule.MINUTES)
    PeriodicTask.objects.filter(name="test.minute").update(interval=slower, enabled=False, expire_seconds=1)
    background.ensure_ticks()
    row = PeriodicTask.objects.get(name="test.minute")
    assert (row.interval, row.enabled, row.expire_seconds) == (slower, False, 1)
    assert PeriodicTask.objects.count() == 2


def test_ticks_of_removed_code_are_switched_off_and_others_left_alone(ticks):
    background.ensure_ticks()
    interval = IntervalSchedule.objects.first()
    PeriodicTask.objects.create(name="an admin's own", task="x", interval=interval)
    del background.TICKS["test.hour"]
    background.ensure_ticks()
    assert not PeriodicTask.objects.get(name="test.hour").enabled
    assert PeriodicTask.objects.get(name="an admin's own").enabled


def test_a_name_is_registered_once(ticks):
    with pytest.raises(ValueError, match="twice"):
        background.register_tick("test.minute", "test.tasks.other")


def test_a_run_sent_by_beat_leaves_its_times_and_its_error(ticks):
    task = FakeTask(periodic_task_name="test.minute")
    background.tick_started(task)
    assert Tick.objects.get().finished_at is None
    background.tick_finished(task, ValueError("bad row"))
    tick = Tick.objects.get()
    assert tick.started_at is not None
    assert tick.finished_at is not None
    assert tick.finished_at >= tick.started_at
    assert tick.error == "ValueError: bad row"
    background.tick_started(task)
    background.tick_finished(task, None)
    assert Tick.objects.get().error == ""


@pytest.mark.parametrize("request_", [{}, {"periodic_task_name": "an admin's own"}, {"ring": "key"}])
def test_a_call_beat_did_not_send_says_nothing_about_beat(ticks, request_):
    background.tick_started(FakeTask(**request_))
    background.tick_finished(FakeTask(**request_), None)
    assert Tick.objects.count() == 0


def test_migrating_made_the_rows_of_the_core():
    names = set(PeriodicTask.objects.values_list("name", flat=True))
    assert {"synth.drain_outbox", "synth.prune_outbox"} <= names


def test_no_registered_tick_uses_a_crontab():
    assert not PeriodicTask.objects.filter(name__in=background.TICKS, crontab__isnull=False).exists()
