"""GET /api/inbox/ is tailed by number; POST seen, dismiss, act move a delivery of the caller's own once."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from reminders.models import Delivery
from reminders.services import carrying
from reminders.tests.workers import at_once
from synth.services import people
from synth.tests.api.conftest import Callers, no_limits

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["no_limits"]


@pytest.fixture
def callers(db: None) -> Callers:
    return Callers()


@pytest.fixture
def pias(callers: Callers, send) -> APIClient:
    """Pia's client; five deliveries of hers and one of another lie in their inboxes."""
    for n in range(1, 6):
        send(person=callers.person, title=f"No. {n}", metadata={"n": n})
    send(person=callers.trainer, title="Not hers")
    carrying.drain_all()
    return callers.client(callers.person, "person")


def titles(answer) -> list[str]:
    return [row["title"] for row in answer.json()["results"]]


def test_the_oldest_come_first_and_after_goes_on(pias):
    answer = pias.get("/api/inbox/")
    assert titles(answer) == [f"No. {n}" for n in range(1, 6)]
    assert set(answer.json()["results"][0]) == {"seq", "kind", "title", "body", "metadata", "status", "at"}
    assert titles(pias.get("/api/inbox/?after=3")) == ["No. 4", "No. 5"]
    assert titles(pias.get("/api/inbox?after=5")) == []


def test_it_pages(pias):
    first = pias.get("/api/inbox/?limit=2&after=1")
    assert titles(first) == ["No. 2", "No. 3"]
    assert titles(pias.get(first.json()["next"])) == ["No. 4", "No. 5"]


@pytest.mark.parametrize("after", ["", "-1", "x", "1.5", "²", "9" * 30])
def test_a_number_that_is_none_is_malformed(pias, after):
    answer = pias.get("/api/inbox/", {"after": after})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "after")


def test_seen_is_a_claim_and_the_second_one_is_told(pias):
    assert pias.post("/api/inbox/2/seen/").json()["status"] == "seen"
    again = pias.post("/api/inbox/2/seen/")
    assert again.status_code == 409
    assert again.json()["error"]["code"] == "already_seen" and again.json()["error"]["at"]


def test_of_many_clients_one_may_show_it(pias, callers):
    clients = [callers.client(callers.person, "person") for _ in range(8)]
    codes: list[int] = []
    at_once(*[lambda c=c: codes.append(c.post("/api/inbox/1/seen/").status_code) for c in clients])
    assert sorted(codes) == [200] + [409] * 7


@pytest.mark.parametrize(("word", "status"), [("act", "acted"), ("dismiss", "dismissed")])
def test_it_is_acted_on_or_put_away_once(pias, word, status):
    assert pias.post(f"/api/inbox/1/{word}/").json()["status"] == status
    pias.post("/api/inbox/2/seen/")
    assert pias.post(f"/api/inbox/2/{word}/").json()["status"] == status
    for other in ("seen", "act", "dismiss"):
        answer = pias.post(f"/api/inbox/1/{other}/")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, f"already_{status}")


def test_an_idempotency_key_gives_the_first_answer_again(pias):
    for _ in range(2):
        assert pias.post("/api/inbox/1/seen/", HTTP_IDEMPOTENCY_KEY="k").status_code == 200


@pytest.mark.parametrize("seq", [0, 6, 10**30])
def test_a_number_nobody_has_is_not_found(pias, seq):
    assert pias.post(f"/api/inbox/{seq}/seen/").status_code == 404


def test_get_never_moves_anything(pias):
    before = list(Delivery.objects.order_by("pk").values())
    for word in ("seen", "dismiss", "act"):
        assert pias.get(f"/api/inbox/1/{word}/").status_code == 405
    pias.get("/api/inbox/")
    assert list(Delivery.objects.order_by("pk").values()) == before


def test_everybody_has_their_own(pias, callers):
    app = callers.client(callers.service, "app", HTTP_X_PERSON="pia")
    assert len(titles(app.get("/api/inbox/"))) == 5
    assert app.post("/api/inbox/4/act/").status_code == 200
    assert titles(callers.client(callers.service, "app").get("/api/inbox/")) == []
    for person, role, own in (
        (callers.operator, "operator", []),
        (callers.trainer, "trainer", ["Not hers"]),
        (callers.other_trainer, "trainer", []),
    ):
        client = callers.client(person, role)
        assert titles(client.get("/api/inbox/")) == own
        assert client.post("/api/inbox/2/seen/").status_code == 404
    assert APIClient().get("/api/inbox/").status_code == 401
    assert APIClient().post("/api/inbox/2/seen/").status_code == 401
    assert Delivery.objects.filter(status="sent").count() == 5


def test_what_is_queued_is_not_in_the_inbox_yet(pias, callers, send):
    send(person=callers.person, title="Queued")
    assert "Queued" not in titles(pias.get("/api/inbox/"))
    assert people.ensure("pia") == callers.person
