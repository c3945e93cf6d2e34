"""Deliveries reach an open stream as they arrive; a reconnect gets what it missed, and nothing twice."""

from __future__ import annotations

import json
import signal

import pytest
from django.test import Client
from django.utils.timezone import now

from reminders.models import Delivery, InboxCounter
from reminders.services import bells
from reminders.services.bells import channel_of
from reminders.tests.streams.conftest import PATH
from synth import liveness
from synth.selectors import epoch
from synth.services import people
from synth.tests.streams.served import eventually

pytestmark = pytest.mark.slow


def numbers(events):
    return [int(event.id.partition("-")[2]) for event in events if event.event == "delivery"]


def place(person, seq):
    """A delivery whose bell nobody rang."""
    Delivery.objects.create(
        person=person, seq=seq, channel="inbox", kind="system", title="A", status="sent", due_at=now()
    )
    InboxCounter.objects.update_or_create(person=person, defaults={"seq": seq})


def take(client, n):
    events = client.events()
    return [next(events) for _ in range(n)]


def test_a_delivery_comes_as_it_arrives_with_its_id(web, bearer, deliver):
    deliver(2)
    with web.open("GET", PATH, Accept="text/event-stream", **bearer) as client:
        assert client.headers["content-type"] == "text/event-stream; charset=utf-8"
        opening = next(client.blocks())
        assert (opening.retry, opening.event, opening.id) == ("2000", "", f"{epoch()}-2")
        deliver(title="Tea is ready — 🜂\u2028")
        (event,) = take(client, 1)
    assert (event.event, event.id) == ("delivery", f"{epoch()}-3")
    status, _, _ = web.get("/api/inbox/3/seen/", **bearer)
    assert status == 405 and event.json["title"] == "Tea is ready — 🜂" and event.json["status"] == "sent"
    assert len(event.raw.decode().splitlines()) == event.raw.count(b"\n")


@pytest.mark.parametrize("how", ["header", "since_id", "since_number"])
def test_a_reconnect_gets_what_it_missed_in_order(web, bearer, deliver, how):
    deliver(450)
    given, path = dict(bearer), PATH
    if how == "header":
        given["Last-Event-ID"] = f"{epoch()}-7"
        path = f"{PATH}?since=400"  # a browser repeats its address; the header counts
    else:
        path = f"{PATH}?since=" + (f"{epoch()}-7" if how == "since_id" else "7")
    with web.open("GET", path, **given) as client:
        assert numbers(take(client, 443)) == list(range(8, 451))
        deliver()
        assert numbers(take(client, 1)) == [451]


@pytest.mark.parametrize(
    "given", [f"{'0' * 31}1-2", "{epoch}-99", "{epoch}-999999999999999999", "nonsense", "-3", "{epoch}-"]
)
def test_an_id_that_does_not_fit_begins_with_resync(web, bearer, deliver, given):
    deliver(3)
    headers = {**bearer, "Last-Event-ID": given.format(epoch=epoch())}
    with web.open("GET", PATH, **headers) as client:
        opening = next(client.blocks())
        assert opening.id == ""
        (event,) = take(client, 1)
        assert (event.event, event.id, event.json) == ("resync", "", {"epoch": epoch(), "seq": 3})
        deliver()
        assert numbers(take(client, 1)) == [4]


def test_what_is_deleted_cannot_be_replayed(web, bearer, deliver):
    deliver(5)
    Delivery.objects.filter(seq__lte=3).delete()
    with web.open("GET", f"{PATH}?since=1", **bearer) as client:
        assert take(client, 1)[0].event == "resync"
    with web.open("GET", f"{PATH}?since=3", **bearer) as client:
        assert numbers(take(client, 2)) == [4, 5]


def test_what_is_done_on_one_screen_is_told_on_the_others_without_an_id(web, bearer, deliver):
    deliver(1)
    with web.open("GET", PATH, **bearer) as one, web.open("GET", PATH, **bearer) as other:
        for client in (one, other):
            next(client.blocks())
        assert eventually(lambda: web.n_open() == 2)
        deliver(1)
        assert [numbers(take(client, 1)) for client in (one, other)] == [[2], [2]]
        for move in ("seen", "dismiss"):
            assert web.ask("POST", f"/api/inbox/1/{move}/", **bearer)[0] == 200
        told = [[(e.event, e.id, e.json["seq"], e.json["status"]) for e in take(c, 2)] for c in (one, other)]
        assert told == [[("status", "", 1, "seen"), ("status", "", 1, "dismissed")]] * 2


def test_lost_bells_cost_seconds_not_deliveries(web, bearer, deliver, pia):
    with web.open("GET", PATH, **bearer) as client:
        next(client.blocks())
        place(pia, 1)
        assert numbers(take(client, 1)) == [1]
        liveness.client().execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        place(pia, 2)
        assert numbers(take(client, 1)) == [2]
        assert eventually(lambda: liveness.client().pubsub_numsub(channel_of(pia.pk))[0][1] == 1)
        deliver()
        assert numbers(take(client, 1)) == [3]


def test_another_installation_on_the_same_redis_puts_nothing_away(web, bearer, deliver, pia, settings):
    ours = settings.REDIS_URL
    with web.open("GET", PATH, **bearer) as client:
        next(client.blocks())
        deliver(1)
        assert numbers(take(client, 1)) == [1]
        settings.REDIS_URL = f"{ours.partition('?')[0]}?db=15"
        theirs = Delivery(person_id=pia.pk, seq=1, status="dismissed", moved_at=now())
        bells.moved(theirs)
        settings.REDIS_URL = ours
        deliver(1)
        assert numbers(take(client, 1)) == [2], "no status of another's card before it"


def test_a_killed_web_process_loses_nothing(own_web, bearer, deliver):
    deliver(1)
    with own_web.open("GET", f"{PATH}?since=0", **bearer) as client:
        (event,) = take(client, 1)
    own_web.kill(signal.SIGKILL)
    deliver(2)
    own_web.start()
    with own_web.open("GET", PATH, Last_Event_ID=event.id, **bearer) as client:
        assert numbers(take(client, 2)) == [2, 3]


def test_malformed_since_is_400_and_no_key_is_401(web, bearer):
    status, headers, body = web.get(f"{PATH}?since=x", **bearer)
    assert (status, headers["content-type"]) == (400, "application/json") and b'"since"' in body
    status, _, body = web.get(PATH, Accept="text/event-stream")
    assert status == 401 and b"not_authenticated" in body


def test_streams_end_with_what_opened_them(web, bearer, pia):
    pia.set_password("a long enough word")
    pia.save()
    browser = Client()
    browser.force_login(pia, backend="django.contrib.auth.backends.ModelBackend")
    cookie = {"Cookie": f"sessionid={browser.session.session_key}"}
    with web.open("GET", PATH, **cookie) as by_login, web.open("GET", PATH, **bearer) as by_key:
        assert eventually(lambda: web.n_open() == 2)
        browser.logout()
        by_login.connection.settimeout(40)
        assert list(by_login.events()) == [] and by_login.ended
        assert web.n_open() == 1
        people.archive(pia, by=None, door="command")
        by_key.connection.settimeout(40)
        assert list(by_key.events()) == [] and by_key.ended
    assert web.get(PATH, **cookie)[0] == web.get(PATH, **bearer)[0] == 401


def test_a_ticket_opens_it_and_not_the_answers(web, bearer, deliver):
    _, _, raw = web.ask("POST", "/api/stream-tickets/", {}, **bearer)
    ticket = json.loads(raw)["ticket"]
    deliver(1)
    with web.open("GET", f"{PATH}?since=0&ticket={ticket}", Accept="text/event-stream") as client:
        assert numbers(take(client, 1)) == [1]
    assert web.get(f"/api/chat/stream?message=1&ticket={ticket}")[0] == 401
