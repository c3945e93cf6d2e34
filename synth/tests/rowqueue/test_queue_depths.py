"""A registered queue tells how many rows wait and for how long."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils.timezone import now

from synth.models import EventHandling, OutboxEvent
from synth.rowqueue import leases, queues

pytestmark = pytest.mark.django_db


def outbox_depth(at):
    return next(depth for depth in queues.depths(at) if depth.name == "outbox")


def test_an_empty_queue_has_no_wait():
    assert outbox_depth(now()) == queues.Depth("outbox", 0, 0, 0, 0.0)


def test_due_leased_and_later_rows_are_told_apart():
    at = now()
    event = OutboxEvent.objects.create(name="test.queued")
    for i, seconds in enumerate((-90, -30, 60)):
        due = at + timedelta(seconds=seconds)
        EventHandling.objects.create(event=event, handler=f"test.h{i}", due_at=due)
    leases.claim(EventHandling.objects.filter(handler="test.h1"), at=at)
    assert outbox_depth(at) == queues.Depth("outbox", n_waiting=3, n_due=1, n_leased=1, oldest_s=90.0)


def test_a_queue_name_is_unique():
    with pytest.raises(ValueError, match="twice"):
        queues.register_queue("outbox", "synth.EventHandling", Q())
