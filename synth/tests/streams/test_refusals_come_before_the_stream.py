"""What can be refused is refused as JSON, before any stream begins."""

from __future__ import annotations

import json

import pytest
from rest_framework.test import APIClient

from synth.chat import events
from synth.chat.publishing import Publisher
from synth.models import Message
from synth.services import agents, dialogues, keys, people
from synth.tests.streams.served import eventually

pytestmark = pytest.mark.slow


def error(answer):
    status, headers, body = answer
    assert headers["content-type"] == "application/json"
    return status, json.loads(body)["error"]


def test_posting_is_checked_like_any_request(web, dialogue, bearer, person):
    path, sse = "/api/chat/stream", {"Accept": "text/event-stream", **bearer}
    good = {"dialogue": str(dialogue.pk), "content": "Hello?"}
    cases = [
        (web.ask("POST", path, good, Accept="text/event-stream"), 401, "not_authenticated"),
        (web.ask("POST", path, good, Authorization="Bearer x"), 401, "invalid_key"),
        (web.ask("POST", path, b"{", **sse), 400, "invalid"),
        (web.ask("POST", path, {**good, "content": ""}, **sse), 400, "invalid"),
        (web.ask("POST", path, {**good, "stream": True}, **sse), 400, "unknown_field"),
        (web.ask("POST", path, {**good, "dialogue": str(person.pk)}, **sse), 400, "invalid"),
        (web.ask("POST", path, {**good, "parent": 99}, **sse), 404, "message_not_found"),
        (web.ask("PUT", path, good, **sse), 405, "method_not_allowed"),
        (web.ask("POST", path, good, X_Person="nobody", **sse), 403, "not_allowed"),
    ]
    for answer, status, code in cases:
        found, told = error(answer)
        assert (found, told["code"]) == (status, code)
    assert not Message.objects.exists()


def test_a_running_answer_an_archived_agent_and_a_full_queue_are_refused(web, begin, bearer, agent, person):
    answer = begin()
    body = {"dialogue": str(answer.row.dialogue_id), "content": "And?"}
    status, told = error(web.ask("POST", "/api/chat/stream", body, **bearer))
    assert (status, told["code"], told["message_id"]) == (409, "turn_running", answer.id)
    for _ in range(7):
        begin()
    more = {"dialogue": str(dialogues.create(agent, person).pk), "content": "And?"}
    raw = web.ask("POST", "/api/chat/stream", more, **bearer)
    status, told = error(raw)
    assert (status, told["code"]) == (429, "too_many_turns") and int(raw[1]["retry-after"]) > 0
    agents.archive(agent, by=None, door="command")
    status, told = error(web.ask("POST", "/api/chat/stream", body, **bearer))
    assert (status, told["code"]) == (409, "agent_archived")


def test_a_full_queue_is_503_with_when_to_come_again(own_web, begin, bearer, agent, person):
    own_web.kill()
    own_web.env = {"CHAT_QUEUE": "1"}
    own_web.start()
    begin(lease_until=None)
    body = {"dialogue": str(dialogues.create(agent, person).pk), "content": "And?"}
    raw = own_web.ask("POST", "/api/chat/stream", body, **bearer)
    status, told = error(raw)
    assert (status, told["code"]) == (503, "chat_full") and int(raw[1]["retry-after"]) > 0


def test_posting_streams_the_answer_a_worker_begins(web, dialogue, bearer, person):
    body = {"dialogue": str(dialogue.pk), "content": "Hello?"}
    headers = {"Idempotency-Key": "k1", **bearer}
    with web.open("POST", "/api/chat/stream", body, **headers) as client:
        assert client.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert eventually(lambda: Message.objects.filter(role="assistant").exists())
        row = Message.objects.get(role="assistant")
        Publisher(row.pk).start(dialogue=str(dialogue.pk), parent=row.parent_id, agent="wren", at=row.at)
        first = next(client.events())
        assert int(first.id) == events.sse_id(row.pk, 1) and first.json["parent"] == row.parent_id
        # The same key again: the same answer's stream, and nothing is said twice.
        with web.open("POST", "/api/chat/stream", body, **headers) as again:
            assert next(again.events()).id == first.id
    assert Message.objects.filter(role="user").count() == 1
    status, told = error(web.ask("POST", "/api/chat/stream", {**body, "content": "Other"}, **headers))
    assert (status, told["code"]) == (422, "idempotency_key_reused")


def test_without_the_front_there_is_no_stream(begin, key):
    answer = begin(status="complete", lease_until=None)
    client = APIClient(HTTP_AUTHORIZATION=f"Bearer {key}", HTTP_X_SYNTH_FRONT="x")
    body = {"dialogue": str(answer.row.dialogue_id), "content": "Hello?"}
    n_messages = Message.objects.count()
    for refused in (client.get(answer.path), client.post("/api/chat/stream", body)):
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "no_stream_here")
        assert int(refused["Retry-After"]) > 0 and not refused.has_header("X-Synth-Stream")
    assert Message.objects.count() == n_messages
    shown = client.get(f"/api/chat/{answer.id}/").json()
    assert shown["message"]["id"] == answer.id and shown["approvals"] == []
    assert client.get(f"/api/chat/{answer.row.parent_id}/").status_code == 404
    assert client.get("/api/chat/9223372036854775808/").status_code == 404


def test_an_app_key_follows_the_person_it_acts_for(web, begin, person):
    answer = begin(status="complete", lease_until=None, content="Hello.")
    service = people.ensure("frontend")
    app = {"Authorization": f"Bearer {keys.issue(service, role='app').plain}"}
    assert web.get(answer.path, **app)[0] == 404
    with web.open("GET", answer.path, X_Person="pia", **app) as client:
        assert [event.event for event in client.events()][-1] == "message.end"
    narrow = {"Authorization": f"Bearer {keys.issue(service, role='app', scopes=['signals']).plain}"}
    status, told = error(web.get(answer.path, X_Person="pia", **narrow))
    assert (status, told["code"]) == (403, "scope_missing")
