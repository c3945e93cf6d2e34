"""Real workers: a ring wakes one per channel, the tick finds what a lost ring left, kill -9 loses nothing."""

from __future__ import annotations

import pytest
from django.utils.timezone import now

from reminders.models import Delivery
from synth.services import people
from synth.testing.webhook_peer import WebhookPeer
from synth.tests.beat import processes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SEND = """
from django.db import transaction
from reminders.services import dispatch
with transaction.atomic():
    for path in {paths}:
        dispatch.send(kind="proposal", title="Hello", interface_path=path, dedupe_key=path)
"""


@pytest.fixture(autouse=True)
def clean():
    processes.store().flushdb()
    yield
    processes.store().flushdb()


def all_sent() -> bool:
    return set(Delivery.objects.values_list("status", flat=True)) == {"sent"}


def send(*paths: str) -> None:
    processes.python(SEND.format(paths=list(paths)), WEBHOOK_ALLOW_PRIVATE="*")


def test_a_ring_reaches_inbox_and_webhook_while_another_hangs(db, tmp_path):
    people.ensure("pia")
    with (
        WebhookPeer() as peer,
        WebhookPeer({"hang": True}) as stuck,
        processes.worker(tmp_path / "worker.log", WEBHOOK_ALLOW_PRIVATE="*"),
    ):
        send(stuck.path, "inbox/pia", peer.path)
        assert processes.wait_for(lambda: Delivery.objects.filter(status="sent").count() == 2)
        assert Delivery.objects.get(channel="inbox").seq == 1
        assert len(peer.requests) == 1 and len(stuck.requests) == 1


def test_a_worker_killed_after_the_call_is_followed_by_one_that_the_tick_wakes(db, tmp_path):
    with WebhookPeer() as peer:
        with processes.worker(
            tmp_path / "first.log", WEBHOOK_ALLOW_PRIVATE="*", SYNTH_FAULT="reminders.carry.after"
        ) as first:
            send(peer.path)
            assert first.wait(60) == -9
        assert Delivery.objects.get().status == "queued"
        Delivery.objects.update(lease_until=now(), due_at=now())
        with processes.worker(tmp_path / "second.log", WEBHOOK_ALLOW_PRIVATE="*"):
            processes.python("from synth.celery import app; app.send_task('reminders.deliver')")
            assert processes.wait_for(all_sent)
        assert len({request.headers["X-Synth-Delivery"] for request in peer.requests}) == 1
        assert len(peer.requests) >= 2
