"""send() saves a row with its sender's transaction, once for each key; the inbox channel numbers it."""

from __future__ import annotations

import pytest
from django.db import transaction

from reminders.models import Delivery
from reminders.services import carrying, dispatch
from reminders.tests.rows import OutboxEvent
from synth.errors import Invalid

pytestmark = pytest.mark.django_db(transaction=True)


def test_sending_outside_a_transaction_is_refused(pia):
    with pytest.raises(RuntimeError, match="outside a transaction"):
        dispatch.send(kind="system", title="Hello", person=pia, dedupe_key="")


def test_a_sender_that_rolls_back_has_sent_nothing(pia):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        dispatch.send(kind="system", title="Hello", person=pia, dedupe_key="a")
        _ = 1 / 0
    assert not Delivery.objects.exists()


def test_a_delivery_to_a_person_lands_in_their_inbox(pia, send):
    row = send(person=pia, metadata={"proposal": 3}, kind="proposal")
    assert (row.status, row.seq, row.interface_path) == ("queued", None, "inbox/pia")
    assert carrying.drain_all() == 1
    row.refresh_from_db()
    assert (row.status, row.seq, row.n_failures, row.lease_until) == ("sent", 1, 0, None)
    assert row.metadata == {"proposal": 3} and row.sent_at and row.results[0]["is_ok"]
    event = OutboxEvent.objects.get(name="reminders.delivery_sent")
    assert event.payload == {"delivery": row.pk}


def test_an_inbox_path_is_the_same_as_its_person(pia, send):
    assert send(interface_path="inbox/pia/proposals").person == pia


def test_the_same_key_gives_the_first_row(pia, send):
    first = send(person=pia, dedupe_key="proposal:1")
    again = send(person=pia, dedupe_key="proposal:1", title="Another")
    assert again.pk == first.pk and again.title == "Hello"
    assert Delivery.objects.count() == 1


def test_blank_keys_never_repeat(pia, send):
    assert send(person=pia).pk != send(person=pia).pk


def test_long_and_odd_texts_are_held(pia, send):
    row = send(person=pia, title="x" * 300 + "\n", body="nul \x00, half \ud83d, " + "y" * 200_000)
    row.refresh_from_db()
    assert len(row.title) == 200 and row.title.endswith("…") and len(row.body) == 100_000


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("telegram/12", "unknown_channel"),
        ("inbox", "bad_target"),
        ("inbox/", "bad_target"),
        ("inbox/nobody", "unknown_person"),
        ("dialogue/12", "bad_target"),
        ("dialogue/7b1d3a52-37a5-4a0c-9f34-1d4a3f0f2b11", "unknown_dialogue"),
        ("webhook/http://example.org/hook", "webhook_refused"),
        ("webhook/https://127.0.0.1/hook", "webhook_refused"),
        ("webhook/ftp://example.org/", "bad_target"),
        ("", "bad_target"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_by_name(db, send, path, code):
    with pytest.raises(Invalid) as refused:
        send(interface_path=path)
    assert (refused.value.code, refused.value.field) == (code, "interface_path")
    assert not Delivery.objects.exists()


def test_an_unknown_kind_is_refused(pia, send):
    with pytest.raises(Invalid, match="kind of delivery"):
        send(person=pia, kind="poem")


def test_a_person_or_a_path_is_needed(pia, send):
    with pytest.raises(ValueError, match="a person or an interface path"):
        send(person=pia, interface_path="inbox/pia")
    with pytest.raises(ValueError, match="a person or an interface path"):
        send()
