"""An event reaches each of its handlers once, and its row says so."""

from __future__ import annotations

import pytest
from django.db import transaction

from synth.models import EventHandling, OutboxEvent
from synth.services import draining, outbox

pytestmark = pytest.mark.django_db


@pytest.fixture
def heard(monkeypatch):
    monkeypatch.setattr(outbox, "HANDLERS", {})
    calls: list[tuple[str, int]] = []
    outbox.subscribe("test.thing_happened", "test.first")(lambda p: calls.append(("first", p["id"])))
    outbox.subscribe("test.thing_happened", "test.second")(lambda p: calls.append(("second", p["id"])))
    outbox.subscribe("test.other_happened", "test.third")(lambda p: calls.append(("third", p["id"])))
    return calls


def test_each_subscribed_handler_hears_of_it_once(heard):
    with transaction.atomic():
        outbox.publish("test.thing_happened", {"id": 7})
    assert draining.drain() == 2
    assert draining.drain() == 0
    assert sorted(heard) == [("first", 7), ("second", 7)]


def test_the_row_is_marked_handled_without_failures(heard):
    outbox.publish("test.thing_happened", {"id": 7})
    draining.drain("test.first")
    row = EventHandling.objects.get(handler="test.first")
    assert (row.status, row.n_failures, row.lease_until, row.error) == ("handled", 0, None, "")
    assert row.handled_at is not None
    assert EventHandling.objects.get(handler="test.second").status == "waiting"


def test_an_event_nobody_subscribed_to_is_saved(heard):
    outbox.publish("test.nobody_cared", {"id": 1})
    assert OutboxEvent.objects.get().handlings.count() == 0


@pytest.mark.django_db(transaction=True)
def test_publishing_outside_a_transaction_is_refused(heard):
    with pytest.raises(RuntimeError, match="outside a transaction"):
        outbox.publish("test.thing_happened", {"id": 1})


@pytest.mark.parametrize("name", ["thing", "Test.thing", "test.", "test thing.x"])
def test_a_name_that_is_not_dotted_is_refused(heard, name):
    with pytest.raises(ValueError, match="dotted"):
        outbox.publish(name, {})
    with pytest.raises(ValueError, match="dotted"):
        outbox.subscribe("test.fine", name)


def test_a_handler_name_is_unique(heard):
    with pytest.raises(ValueError, match="twice"):
        outbox.subscribe("test.fine", "test.first")(lambda p: None)
