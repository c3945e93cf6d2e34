"""Operators see failed deliveries with every try and may start them again; nobody else sees any."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils.timezone import now

from reminders.metrics import failed
from reminders.models import Delivery
from reminders.services import carrying
from synth.services import agents, people

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/reminders/delivery/"


def client_of(person) -> Client:
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def olga(db: None):
    return client_of(people.make_operator(people.ensure("olga"), by=None, door="command"))


@pytest.fixture
def broken(send, pia) -> Delivery:
    """One failed delivery, and one that arrived."""
    row = send(interface_path="webhook/https://gone.example/", title="Broken")
    tries = [{"at": now().isoformat(), "is_ok": False, "detail": "HTTP 410 <b>"}]
    Delivery.objects.filter(pk=row.pk).update(status="failed", n_failures=8, results=tries)
    send(person=pia, title="Arrived")
    carrying.drain_all()
    return Delivery.objects.get(pk=row.pk)


def test_failed_ones_come_first_and_each_try_is_shown(olga, broken):
    page = olga.get(LIST).content.decode()
    assert "Broken" in page and "Arrived" not in page
    assert "Arrived" in olga.get(LIST, {"status": "all"}).content.decode()
    page = olga.get(f"{LIST}{broken.pk}/change/").content.decode()
    assert "HTTP 410 &lt;b&gt;" in page and "https://gone.example/" in page
    assert olga.get("/admin/reminders/remotehost/").status_code == 200


def test_try_again_is_a_post_and_only_for_failed_ones(olga, broken):
    asked = {"action": "try_again", "_selected_action": [broken.pk]}
    olga.get(LIST, asked)
    broken.refresh_from_db()
    assert broken.status == "failed"
    assert olga.post(LIST, asked).status_code == 302
    broken.refresh_from_db()
    assert (broken.status, broken.n_failures) == ("queued", 0)
    answer = olga.post(f"{LIST}?status=all", asked, follow=True)
    assert "not failed any more" in answer.content.decode()


def test_nobody_changes_one_by_hand(olga, broken):
    assert olga.get(f"{LIST}add/").status_code == 403
    assert olga.post(f"{LIST}{broken.pk}/change/", {"title": "Other"}).status_code == 403
    assert olga.post(f"{LIST}{broken.pk}/delete/", {"post": "yes"}).status_code == 403
    broken.refresh_from_db()
    assert broken.title == "Broken"


def test_trainers_and_persons_see_none(broken, pia):
    tara = people.ensure("tara")
    agents.create(slug="wren", name="Wren", trainers=[tara])
    tara.refresh_from_db()
    for person, codes in ((tara, {403}), (pia, {302})):
        client = client_of(person)
        for path in (LIST, f"{LIST}{broken.pk}/change/", "/admin/reminders/remotehost/"):
            assert client.get(path).status_code in codes
        client.post(LIST, {"action": "try_again", "_selected_action": [broken.pk]})
    assert Delivery.objects.get(pk=broken.pk).status == "failed"


def test_metrics_count_the_failed_and_what_waits(olga, broken, send):
    send(interface_path="webhook/https://example.org/")
    failed.forget()
    from synth.probes import backlog

    backlog.forget()
    page = olga.get("/metrics").content.decode()
    assert "synth_deliveries_failed 1.0" in page
    assert 'synth_queue_rows{kind="waiting",queue="deliveries"} 1.0' in page
