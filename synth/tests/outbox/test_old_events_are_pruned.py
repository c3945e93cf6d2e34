"""Events every handler finished two weeks ago go; everything else stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now

from synth.models import EventHandling, OutboxEvent
from synth.rowqueue.deadline import Deadline
from synth.services import outbox

pytestmark = pytest.mark.django_db


def event(age_days, *statuses, handled_days=None):
    at = now() - timedelta(days=age_days)
    made = OutboxEvent.objects.create(name="test.old", at=at)
    for i, status in enumerate(statuses):
        handled_at = now() - timedelta(days=handled_days or age_days) if status == "handled" else None
        EventHandling.objects.create(
            event=made, handler=f"t.{i}", status=status, due_at=at, handled_at=handled_at
        )
    return made.pk


def test_only_events_finished_long_ago_go():
    event(15, "handled", "handled")
    event(15)
    kept = {
        event(13, "handled"),
        event(15, "handled", "waiting"),
        event(90, "parked"),
        event(15, "handled", handled_days=1),
    }
    assert outbox.prune(Deadline(10)) == 2
    assert set(OutboxEvent.objects.values_list("pk", flat=True)) == kept


def test_more_than_one_chunk_goes_in_one_call(monkeypatch):
    monkeypatch.setattr(outbox, "PRUNE_CHUNK", 2)
    for _ in range(5):
        event(15, "handled")
    assert outbox.prune(Deadline(10)) == 5


def test_nothing_is_deleted_after_the_deadline():
    event(15, "handled")
    assert outbox.prune(Deadline(0)) == 0
