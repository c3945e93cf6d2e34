"""A webhook that fails is tried again later, then given up with an event; nothing else waits for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.utils.timezone import now

from reminders.channels import CHANNELS, webhook
from reminders.models import Delivery, RemoteHost
from reminders.services import carrying, hosts, inbox
from reminders.tests.rows import AuditEntry, OutboxEvent
from reminders.tests.workers import at_once
from synth.errors import Conflict
from synth.rowqueue.deadline import Deadline
from synth.services import people
from synth.testing.webhook_peer import WebhookPeer

pytestmark = pytest.mark.django_db(transaction=True)


def drain_at(at: datetime) -> None:
    """Drain with a clock that stands at `at`."""
    carrying.drain_all(clock=lambda: at)


def try_until_settled(row: Delivery) -> int:
    """Drain whenever the row is due, with a clock that jumps there; how often."""
    for n in range(1, 20):
        row.refresh_from_db()
        at = max(row.due_at, now())
        drain_at(at)
        row.refresh_from_db()
        if row.status != "queued":
            return n
    raise AssertionError("never settled")


def test_a_peer_that_recovers_gets_it(send, anywhere):
    with WebhookPeer(500, {"reset": True}, 429, 204) as peer:
        row = send(interface_path=peer.path)
        assert try_until_settled(row) == 4
    assert row.status == "sent" and row.n_failures == 3
    assert [r["is_ok"] for r in row.results] == [False, False, False, True]
    assert len({request.headers["X-Synth-Delivery"] for request in peer.requests}) == 1
    assert not RemoteHost.objects.exists(), "an answer forgets the failures"


def test_after_eight_tries_it_is_failed_with_an_event(send, anywhere):
    with WebhookPeer(500) as peer:
        row = send(interface_path=peer.path)
        try_until_settled(row)
    assert (row.status, row.n_failures, row.lease_until) == ("failed", 8, None)
    event = OutboxEvent.objects.get(name="reminders.delivery_failed")
    assert event.payload == {"delivery": row.pk, "error": "HTTP 500"}
    # The breaker spared the peer some of the tries in between, never the last.
    assert 5 <= len(peer.requests) <= 8


def test_waits_grow(send, anywhere):
    with WebhookPeer({"reset": True}) as peer:
        row = send(interface_path=peer.path)
        waits = []
        for _ in range(3):
            at = max(row.due_at, now())
            drain_at(at)
            row.refresh_from_db()
            waits.append(round((row.due_at - at).total_seconds()))
    assert waits == [30, 120, 600]


@pytest.mark.parametrize(("status", "n_tries"), [(410, 1), (404, 3), (400, 4), (403, 4), (422, 4), (302, 4)])
def test_answers_that_rarely_change_end_sooner(send, anywhere, status, n_tries):
    with WebhookPeer(status) as peer:
        row = send(interface_path=peer.path)
        assert try_until_settled(row) == n_tries == len(peer.requests)
    assert row.status == "failed"


def test_a_peer_may_ask_for_a_later_try(send, anywhere):
    with WebhookPeer({"status": 503, "headers": {"Retry-After": "900"}}) as peer:
        row = send(interface_path=peer.path)
        carrying.drain_all()
    row.refresh_from_db()
    assert 890 < (row.due_at - now()).total_seconds() <= 900


def test_a_hanging_webhook_never_blocks_an_inbox(send, pia, anywhere, monkeypatch):
    channel = replace(webhook.CHANNEL, timeout_s=3.0)
    monkeypatch.setitem(CHANNELS, "webhook", channel)
    with WebhookPeer({"hang": True}) as peer:
        for _ in range(5):
            send(interface_path=peer.path)
        send(person=pia)
        began, deadline = now(), Deadline(1)
        busy = [lambda: carrying.drain("webhook", deadline) for _ in range(4)]
        at_once(*busy, lambda: inbox_is_quick(began))
        assert len(peer.requests) <= channel.max_at_once + 1


def inbox_is_quick(began) -> None:
    assert carrying.drain("inbox") == 1
    assert now() - began < timedelta(seconds=2.5)


def test_a_host_that_keeps_failing_is_left_alone(send, anywhere):
    with WebhookPeer(500) as peer:
        rows = [send(interface_path=peer.path) for _ in range(12)]
        carrying.drain_all()
        assert len(peer.requests) == hosts.PATIENCE
        for row in rows:
            row.refresh_from_db()
        assert [row.results[0]["detail"] for row in rows].count("not tried: its host keeps failing") == 7
        shut_until = RemoteHost.objects.get().shut_until
        assert shut_until is not None
        assert min(row.due_at for row in rows[5:]) >= shut_until - timedelta(seconds=2)


def test_a_host_that_says_no_is_not_shut(send, anywhere):
    with WebhookPeer(403) as peer:
        for _ in range(8):
            send(interface_path=peer.path)
        carrying.drain_all()
        assert len(peer.requests) == 8


def test_an_operator_may_try_again(send, anywhere):
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    with WebhookPeer(410, 204) as peer:
        row = send(interface_path=peer.path)
        assert try_until_settled(row) == 1
        inbox.try_again(row.pk, by=olga)
        with pytest.raises(Conflict, match="not failed"):
            inbox.try_again(row.pk, by=olga)
        assert carrying.drain_all() == 1
    assert AuditEntry.objects.filter(action="delivery_retry").count() == 1
    assert Delivery.objects.get().status == "sent"
