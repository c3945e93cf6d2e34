"""A webhook reaches the open internet and nothing else, unless the operator names the host."""

from __future__ import annotations

import socket

import pytest

from reminders.channels import Parcel, Undelivered, webhook
from reminders.paths import parse
from reminders.services import carrying
from synth.errors import Invalid
from synth.net import addresses
from synth.testing.webhook_peer import WebhookPeer

PRIVATE = [
    "127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "100.100.100.200",
    "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "168.63.129.16", "::1", "::", "fe80::1%eth0",
    "fec0::1",
    "fd00:ec2::254", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_a_network_of_its_own_is_not_public(address):
    assert not addresses.is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_an_address_of_the_internet_is(address):
    assert addresses.is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://localhost/",
        "https://a.internal/",
    ]
    + ["https://LOCALHOST./x", "https://[::ffff:127.0.0.1]/"],
)
def test_such_an_address_is_refused_when_it_is_given(url):
    with pytest.raises(Invalid) as refused:
        webhook.check(parse(f"webhook/{url}"))
    assert refused.value.code == "webhook_refused"


@pytest.mark.parametrize("allowed", ["*", "localhost:80, Build.Internal:8080"])
def test_the_operator_may_name_a_host(monkeypatch, allowed):
    monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", allowed)
    webhook.check(parse("webhook/http://build.internal:8080/hook"))
    if allowed != "*":
        with pytest.raises(Invalid):
            webhook.check(parse("webhook/http://build.internal:8081/hook"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("answer", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["169.254.169.254"]])
def test_a_name_that_leads_inside_is_never_connected_to(send, monkeypatch, answer):
    row = send(interface_path="webhook/https://hook.example.org/")
    look_ups = []

    def look_up(host, port, **how):
        look_ups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("connected"))
    parcel = Parcel(row.pk, row.kind, row.title, row.body, row.at, parse(row.interface_path))
    with pytest.raises(Undelivered, match="private network") as trouble:
        webhook.carry(parcel, 5)
    assert trouble.value.max_tries == 1 and look_ups == ["hook.example.org"]


@pytest.mark.django_db(transaction=True)
def test_a_leave_that_was_taken_back_holds_for_what_is_queued(send, monkeypatch):
    with WebhookPeer() as peer:
        monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", peer.host)
        row = send(interface_path=peer.path)
        monkeypatch.delenv("WEBHOOK_ALLOW_PRIVATE")
        assert carrying.drain_all() == 0
        assert not peer.requests
    row.refresh_from_db()
    assert row.status == "failed"
