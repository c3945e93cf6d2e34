"""Kill -9 around sending and committing: one row, never lost, at the peer at least once with the same id."""

from __future__ import annotations

import signal

import pytest

from reminders.models import Delivery
from reminders.services import carrying
from reminders.tests.rows import OutboxEvent
from reminders.tests.workers import at_once, drain_in_child, run_in_child
from synth import faults
from synth.testing.webhook_peer import WebhookPeer

pytestmark = pytest.mark.django_db(transaction=True)
POINTS = sorted(
    name for name in faults.KNOWN if name.startswith("reminders.") and name != "reminders.send.saved"
)
N = 3


def sent_events() -> int:
    return int(OutboxEvent.objects.filter(name="reminders.delivery_sent").count())


def kill_then_finish(point: str) -> None:
    killed = drain_in_child(SYNTH_FAULT=point, WEBHOOK_ALLOW_PRIVATE="*")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    assert Delivery.objects.count() == N
    # The dead process' lease and the waits of tries it left uncounted are over after an hour.
    finished = drain_in_child(later_s=3600, WEBHOOK_ALLOW_PRIVATE="*")
    assert finished.returncode == 0, finished.stderr[-2000:]
    rows = list(Delivery.objects.all())
    assert [(row.status, row.lease_until) for row in rows] == [("sent", None)] * N
    assert sent_events() == N


@pytest.mark.parametrize(
    ("point", "n_requests"),
    [
        pytest.param("reminders.carry.before:2", N, marks=pytest.mark.slow),
        ("reminders.carry.after:2", N + 1),
    ],
)
def test_a_webhook_gets_it_at_least_once_with_the_same_id(send, point, n_requests, anywhere):
    with WebhookPeer() as peer:
        ids = {str(send(interface_path=peer.path).pk) for _ in range(N)}
        kill_then_finish(point)
    got = [request.headers["X-Synth-Delivery"] for request in peer.requests]
    assert set(got) == ids and len(got) == n_requests


@pytest.mark.slow
def test_a_death_before_the_commit_gives_an_inbox_number_back(send, pia):
    for _ in range(N):
        send(person=pia)
    kill_then_finish("reminders.sent.before:2")
    assert list(Delivery.objects.order_by("seq").values_list("seq", flat=True)) == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_a_death_anywhere_loses_nothing(send, point, nth, anywhere):
    # The first requests fail, so that the point where failures are written is passed too.
    with WebhookPeer(*([500] * nth if "failure" in point else []), 204) as peer:
        ids = {str(send(interface_path=peer.path).pk) for _ in range(N)}
        kill_then_finish(f"{point}:{nth}")
    assert {request.headers["X-Synth-Delivery"] for request in peer.requests} == ids


@pytest.mark.slow
def test_a_delivery_that_always_takes_its_process_down_is_failed(send, anywhere):
    send(interface_path="webhook/http://127.0.0.1:9/")
    later_s = 0
    for _ in range(carrying.MAX_TRIES):
        killed = drain_in_child(
            SYNTH_FAULT="reminders.carry.before", later_s=later_s, WEBHOOK_ALLOW_PRIVATE="*"
        )
        assert killed.returncode == -signal.SIGKILL
        later_s += 13 * 3600
    assert drain_in_child(SYNTH_FAULT="reminders.carry.before", later_s=later_s).returncode == 0
    row = Delivery.objects.get()
    assert (row.status, row.results[-1]["detail"]) == ("failed", carrying.DIED)


def test_eight_workers_send_each_delivery_once(send, anywhere):
    with WebhookPeer({"status": 204, "delay_s": 0.02}) as peer:
        ids = sorted(str(send(interface_path=peer.path).pk) for _ in range(24))
        at_once(*[drain_until_empty for _ in range(8)])
    assert sorted(request.headers["X-Synth-Delivery"] for request in peer.requests) == ids
    assert sent_events() == 24


def drain_until_empty() -> None:
    while Delivery.objects.filter(status="queued").exists():
        carrying.drain("webhook")


def test_a_sender_killed_before_its_commit_has_sent_nothing(pia):
    code = (
        "from django.db import transaction\nfrom reminders.services import dispatch\n"
        "with transaction.atomic():\n"
        "    dispatch.send(kind='system', title='Hello', interface_path='inbox/pia', dedupe_key='k')\n"
    )
    assert run_in_child(code, SYNTH_FAULT="reminders.send.saved").returncode == -signal.SIGKILL
    assert not Delivery.objects.exists()
    assert run_in_child(code).returncode == 0
    assert Delivery.objects.count() == 1
