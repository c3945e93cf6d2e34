"""A webhook gets signed JSON once; its receiver can prove who sent it, and any 2xx confirms it."""

from __future__ import annotations

import hashlib
import hmac
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from reminders.channels import webhook
from reminders.channels.base import Parcel, Undelivered
from reminders.models import Delivery
from reminders.paths import parse
from reminders.services import carrying
from reminders.tests.rows import OutboxEvent
from synth.net import database
from synth.testing.webhook_peer import WebhookPeer

pytestmark = pytest.mark.django_db(transaction=True)


def key_shown(url: str) -> str:
    """What an operator reads off the command."""
    out = StringIO()
    call_command("webhook_key", url, stdout=out)
    return out.getvalue().split()[-1]


def parcel(path: str) -> Parcel:
    row = Delivery.objects.get()
    return Parcel(row.pk, row.kind, row.title, row.body, row.at, parse(path), row.metadata)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_2xx_confirms_it(send, anywhere, status):
    with WebhookPeer(status) as peer:
        row = send(interface_path=peer.path, kind="proposal", metadata={"proposal": 7})
        assert carrying.drain_all() == 1
    row.refresh_from_db()
    assert (row.status, row.seq, row.results[0]["detail"]) == ("sent", None, f"HTTP {status}")
    assert OutboxEvent.objects.filter(name="reminders.delivery_sent").count() == 1
    (got,) = peer.requests
    assert got.json == {
        "id": row.pk, "kind": "proposal", "title": "Hello", "body": "A word.",
        "metadata": {"proposal": 7}, "at": row.at.isoformat(),
    }  # fmt: skip
    assert got.headers["X-Synth-Delivery"] == str(row.pk)
    assert got.headers["Content-Type"] == "application/json"


def test_the_signature_holds_under_the_key_the_operator_is_shown(send, anywhere):
    with WebhookPeer() as peer:
        send(interface_path=peer.path, title="Käse 李")
        carrying.drain_all()
    (got,) = peer.requests
    signed = got.headers["X-Synth-Timestamp"].encode() + b"." + got.raw
    expected = hmac.new(key_shown(peer.url).encode(), signed, hashlib.sha256).hexdigest()
    assert got.headers["X-Synth-Signature"] == f"sha256={expected}"


def test_each_origin_and_path_has_its_own_key():
    same = {
        key_shown(url)
        for url in ("https://Example.org/a", "https://example.org:443/a?b=c", "HTTPS://example.org/a")
    }
    others = {
        key_shown(url)
        for url in ("https://example.org/b", "https://example.org:8443/a", "http://example.org/a")
    }
    assert len(same) == 1 and len(same | others) == 4
    with pytest.raises(CommandError):
        key_shown("not an address")


def test_what_is_wrong_with_the_body_of_an_answer_does_not_matter(send, anywhere):
    with WebhookPeer({"status": 200, "body": "x" * 1000, "drip_s": 1}) as peer:
        send(interface_path=peer.path)
        assert carrying.drain_all() == 1


def test_a_redirect_is_not_followed(send, anywhere):
    with WebhookPeer() as other, WebhookPeer({"status": 307, "headers": {"Location": other.url}}) as peer:
        row = send(interface_path=peer.path)
        assert carrying.drain_all() == 0
    row.refresh_from_db()
    assert "not followed" in row.results[0]["detail"] and len(peer.requests) == 1 and not other.requests


@pytest.mark.parametrize("answer", [{"hang": True}, {"delay_s": 30}, {"reset": True}])
def test_a_peer_that_does_not_answer_is_given_up_in_time(send, anywhere, answer):
    with WebhookPeer(answer) as peer:
        send(interface_path=peer.path)
        with pytest.raises(Undelivered, match="no answer") as trouble:
            webhook.carry(parcel(peer.path), 0.5)
    assert trouble.value.is_hosts_fault and "hook" not in trouble.value.detail


def test_a_channel_never_runs_inside_a_transaction(send, anywhere):
    with WebhookPeer() as peer:
        row = send(interface_path=peer.path)
        with transaction.atomic(), pytest.raises(database.InTransaction):
            carrying.drain("webhook")
        row.refresh_from_db()
        assert not peer.requests and (row.status, row.attempt) == ("queued", 0)


def test_the_log_names_no_address(send, anywhere, capfd):
    with WebhookPeer(500) as peer:
        send(interface_path=f"{peer.path}?token=hush-hush")
        carrying.drain_all()
        assert peer.requests[0].path.endswith("hush-hush")
    assert "hush-hush" not in "".join(capfd.readouterr())
    assert "hush-hush" not in str(Delivery.objects.get().results) + str(Delivery.objects.get())
