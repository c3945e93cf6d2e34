"""Tickets: short-lived, for one purpose, worth nothing once what they stand on is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils.timezone import now
from rest_framework.test import APIClient

from synth.api.tickets import VALID_S, _read
from synth.services import keys, people


@pytest.fixture
def client(key) -> APIClient:
    return APIClient(HTTP_AUTHORIZATION=f"Bearer {key}")


def ticket(client, body=None, **headers):
    answer = client.post("/api/stream-tickets/", body or {}, **headers)
    assert answer.status_code == 201, answer.content
    return answer.json()["ticket"]


def test_it_stands_for_its_caller_and_key(client, key, person):
    found = _read(ticket(client), "reminders")
    assert found is not None and found[0] == person and found[1] is not None and found[1].prefix in key
    assert _read(ticket(client, {"stream": "chat"}), "chat") is not None


def test_it_holds_for_one_purpose_and_a_minute(client):
    given = ticket(client)
    assert _read(given, "chat") is None and _read(given + "x", "reminders") is None
    with time_machine.travel(now() + timedelta(seconds=VALID_S - 2)):
        assert _read(given, "reminders") is not None
    with time_machine.travel(now() + timedelta(seconds=VALID_S + 2)):
        assert _read(given, "reminders") is None


def test_a_revoked_key_or_a_closed_account_takes_its_tickets_along(client, person):
    given = ticket(client)
    keys.revoke(person.api_keys.get(), by=None, door="command")
    assert _read(given, "reminders") is None
    keys.issue(person, role="person")
    fresh = APIClient(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role='person').plain}")
    given = ticket(fresh)
    people.archive(person, by=None, door="command")
    assert _read(given, "reminders") is None


def test_a_ticket_of_a_login_ends_with_it_and_shows_nothing_of_it(person):
    person.set_password("a long enough word")
    person.save()
    browser = Client()
    browser.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    given = browser.post("/api/stream-tickets/", {}, content_type="application/json").json()["ticket"]
    found = _read(given, "reminders")
    assert found == (person, None, browser.session.session_key)
    assert browser.session.session_key not in given
    browser.logout()
    assert _read(given, "reminders") is None


def test_it_opens_nothing_but_streams(client):
    given = ticket(client)
    for path in ("/api/me/", "/api/inbox/", "/api/dialogues/", "/api/chat/1/"):
        assert APIClient().get(f"{path}?ticket={given}").status_code == 401
    other = APIClient()
    assert other.post(f"/api/chat/stream?ticket={given}", {}).status_code == 401
    wrong = other.get(f"/api/chat/stream?message=1&ticket={given}")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "invalid_ticket")


def test_guessing_is_limited_by_address(settings, person):
    settings.RATE_PER_ADDRESS = 2
    statuses = [APIClient().get("/api/chat/stream?message=1&ticket=x").status_code for _ in range(4)]
    assert statuses == [401, 401, 429, 429]


def test_what_it_is_for_is_checked(client):
    answer = client.post("/api/stream-tickets/", {"stream": "everything"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "stream")
    assert APIClient().post("/api/stream-tickets/", {}).status_code == 401


@pytest.mark.slow
def test_a_browser_follows_an_answer_with_it(web, begin, client):
    answer = begin(status="complete", lease_until=None, content="Hello.")
    given = ticket(client, {"stream": "chat"})
    with web.open("GET", f"{answer.path}&ticket={given}", Accept="text/event-stream") as stream:
        assert [event.event for event in stream.events()][-1] == "message.end"
    status, _, body = web.get(f"{answer.path}&ticket=nonsense")
    assert status == 401 and b"invalid_ticket" in body
