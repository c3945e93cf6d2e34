"""Dialogues and turns over HTTP: own ones only, one answer at a time, a key works once."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from synth.models import Agent, ApiKey, Dialogue, Message
from synth.services import agents, dialogues
from synth.testing.scripted_host import ScriptedHost
from synth.tests.api.conftest import Callers, no_limits  # noqa: F401 - a fixture
from synth.tests.chat.conftest import call


@pytest.fixture
def callers(db: None) -> Callers:
    return Callers()


@pytest.fixture
def agent(callers: Callers) -> Agent:
    return agents.create(slug="wren", name="Wren", trainers=[callers.trainer])


@pytest.fixture
def client(callers: Callers) -> APIClient:
    return callers.client(callers.person, "person")


@pytest.fixture
def begun(client: APIClient, agent: Agent) -> dict[str, Any]:
    answer = client.post("/api/dialogues/", {"agent": "wren", "title": "  Hello \n there "})
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def say(
    client: APIClient, dialogue: Any, content: Any, *replies: Any, headers: Any = None, **body: Any
) -> Any:
    body = {"dialogue": dialogue, **({} if content is None else {"content": content}), **body}
    with ScriptedHost(replies) as host, host.installed():
        return client.post("/api/chat/", body, headers=headers)


def test_a_dialogue_is_begun_named_put_away_and_listed(client, begun):
    assert begun["title"] == "Hello there" and begun["agent"] == "wren" and begun["scratch"] is False
    url = f"/api/dialogues/{begun['id']}/"
    assert client.get(url).json() == begun
    assert client.patch(url, {"title": "New", "archived": True}).json()["title"] == "New"
    assert client.get("/api/dialogues/").json()["results"] == []
    assert len(client.get("/api/dialogues/?archived=true&agent=wren").json()["results"]) == 1
    assert client.patch(url, {"archived": False}).json()["archived_at"] is None
    scratch = client.post("/api/dialogues/", {"agent": "wren", "scratch": True}).json()
    assert scratch["scratch"] is True
    page = client.get("/api/dialogues/?limit=1").json()
    assert page["results"][0]["id"] == scratch["id"]
    assert client.get(page["next"]).json()["results"][0]["id"] == begun["id"]


def test_a_turn_gives_the_message_and_what_was_done(client, begun, add):
    add()
    body = say(client, begun["id"], "Ring.", {"tool_calls": [call()]}, "It rang.").json()
    assert body["message"]["content"] == "It rang." and body["message"]["status"] == "complete"
    (done,) = body["actions"]
    assert (done["action"], done["is_ok"], done["text"]) == ("bell_ring", True, "The bell rang (1).")
    tree = client.get(f"/api/dialogues/{begun['id']}/messages/").json()["results"]
    assert [m["role"] for m in tree] == ["user", "assistant", "assistant", "tool"]
    assert tree[0]["author"] == "pia" and tree[1]["parent"] == tree[3]["id"] and tree[0]["metadata"] == {}
    first = client.get(f"/api/dialogues/{begun['id']}/messages/?limit=3").json()
    assert client.get(first["next"]).json()["results"] == tree[3:]
    assert client.get(f"/api/dialogues/{begun['id']}/").json()["active_leaf"] == body["message"]["id"]


def test_a_parent_branches_null_begins_anew_and_no_content_answers_again(client, begun):
    first = say(client, begun["id"], "One.", "Uno.").json()["message"]
    edited = say(client, begun["id"], "Two.", "Due.", parent=first["id"]).json()["message"]
    assert Message.objects.get(pk=edited["parent"]).parent_id == first["id"]
    root = say(client, begun["id"], "Three.", "Tre.", parent=None).json()["message"]
    assert Message.objects.get(pk=root["parent"]).parent_id is None
    again = say(client, begun["id"], None, "Uno!", parent=first["parent"]).json()["message"]
    assert again["parent"] == first["parent"] and again["id"] != first["id"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": "  "}, "content"),
        ({"content": "a\u0000"}, "content"),
        ({"content": 7}, "content"),
        ({"content": None}, "content"),
        ({"content": "x" * (dialogues.MAX_CONTENT_CHARS + 1)}, "content"),
        ({}, "content"),
        ({"content": "a", "parent": "x"}, "parent"),
        ({"content": "a", "parent": 0}, "parent"),
        ({"content": "a", "dialogue": "7"}, "dialogue"),
        ({"content": "a", "stream": True}, "stream"),
    ],
)
def test_malformed_is_400_with_its_field(client, begun, body, field):
    answer = client.post("/api/chat/", {"dialogue": begun["id"], **body})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert not Message.objects.exists()


def test_a_parent_of_another_dialogue_is_404(client, begun):
    other = client.post("/api/dialogues/", {"agent": "wren"}).json()
    first = say(client, other["id"], "One.", "Uno.").json()["message"]
    answer = say(client, begun["id"], "Two.", "Due.", parent=first["id"])
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "message_not_found")


def test_without_a_model_it_is_503_and_the_message_stays(client, begun):
    answer = client.post("/api/chat/", {"dialogue": begun["id"], "content": "Hello?"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], answer["Retry-After"]) == (503, "no_language_model", "30")
    assert (
        error["message_id"] == Message.objects.get(role="assistant").pk and error["dialogue"] == begun["id"]
    )
    assert Message.objects.get(role="user").content == "Hello?"
    refused = say(client, begun["id"], "Hello?", {"status": 400, "content": "no"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "llm_refused")


def test_a_key_says_it_once_and_answers_it_once(client, begun):
    headers = {"Idempotency-Key": "k1"}
    lost = client.post("/api/chat/", {"dialogue": begun["id"], "content": "Hi"}, headers=headers)
    assert lost.status_code == 503
    first = say(client, begun["id"], "Hi", "Hello.", "Never asked.", headers=headers).json()
    again = say(client, begun["id"], "Hi", "Never asked.", headers=headers).json()
    assert first == again and Message.objects.filter(role="user").count() == 1
    other = say(client, begun["id"], "Ho", "No.", headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert client.post("/api/chat/", {}, headers={"Idempotency-Key": "x" * 201}).status_code == 400


def test_a_key_has_a_message_answered_anew_once(client, begun):
    first = say(client, begun["id"], "Hi", "Hello.", headers={"Idempotency-Key": "k1"}).json()["message"]
    headers = {"Idempotency-Key": "k2"}
    lost = say(client, begun["id"], None, {"status": 503}, parent=first["parent"], headers=headers)
    assert lost.status_code == 503
    anew = say(client, begun["id"], None, "Hello!", parent=first["parent"], headers=headers).json()
    again = say(client, begun["id"], None, "Never asked.", parent=first["parent"], headers=headers).json()
    assert anew == again and anew["message"]["content"] == "Hello!"
    assert Message.objects.filter(role="assistant", status="complete").count() == 2
    other = say(client, begun["id"], "Ho", "Hm.").json()["message"]["parent"]
    for values in ({"parent": other}, {"content": "Hi"}):
        reused = client.post("/api/chat/", {"dialogue": begun["id"], **values}, headers=headers)
        assert (reused.status_code, reused.json()["error"]["code"]) == (422, "idempotency_key_reused")
    said = client.post(
        "/api/chat/", {"dialogue": begun["id"], "parent": other}, headers={"Idempotency-Key": "k1"}
    )
    assert (said.status_code, said.json()["error"]["code"]) == (422, "idempotency_key_reused")


def test_a_running_turn_is_409_with_who_and_when_and_nothing_is_put_away(client, begun):
    Message.objects.create(
        dialogue_id=begun["id"], role="assistant", status="streaming", lease_until="2999-01-01T00:00Z"
    )
    error = client.post("/api/chat/", {"dialogue": begun["id"], "content": "Hi"}).json()["error"]
    assert (error["code"], error["by"]) == ("turn_running", "pia") and error["since"]
    url = f"/api/dialogues/{begun['id']}/"
    assert client.delete(url).status_code == client.patch(url, {"archived": True}).status_code == 409
    assert Dialogue.objects.filter(pk=begun["id"], archived_at=None).exists()


def test_delete_gives_a_receipt(client, begun):
    say(client, begun["id"], "Hi", "Hello.")
    answer = client.delete(f"/api/dialogues/{begun['id']}/")
    assert answer.status_code == 200
    removed = answer.json()["removed"]
    assert (removed["synth.Dialogue"], removed["synth.Message"], removed["synth.LlmCall"]) == (1, 2, 1)
    assert client.get(f"/api/dialogues/{begun['id']}/").status_code == 404


def test_an_archived_agent_is_409(client, begun, agent):
    agents.archive(agent, by=None, door="command")
    answer = client.post("/api/chat/", {"dialogue": begun["id"], "content": "Hi"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "agent_archived")


def test_an_agent_that_is_no_longer_open_is_404(client, begun, agent, callers):
    agents.update(agent, {"people": [callers.other_trainer]}, by=None, door="command")
    answer = client.post("/api/chat/", {"dialogue": begun["id"], "content": "Hi"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "agent_not_found")
    assert client.post("/api/dialogues/", {"agent": "wren"}).status_code == 404


def test_everybody_sees_only_their_own(callers, begun, agent):
    app = callers.client(callers.service, "app", HTTP_X_PERSON="pia")
    alone = callers.client(callers.service, "app")
    url = f"/api/dialogues/{begun['id']}/"
    others = [
        callers.client(callers.operator, "operator"), callers.client(callers.trainer, "trainer"), alone,
    ]  # fmt: skip
    for other in others:
        assert other.get("/api/dialogues/").json()["results"] == []
        chat = {"dialogue": begun["id"], "content": "Hi"}
        answers = [
            other.get(url), other.patch(url, {"title": "x"}), other.delete(url), other.get(url + "messages/"),
            other.post("/api/chat/", chat),
        ]  # fmt: skip
        assert {answer.status_code for answer in answers} == {404}
    assert app.get(url).status_code == 200
    assert say(app, begun["id"], "Hi", "Hello.").status_code == 200
    assert Message.objects.get(role="user").author == callers.person
    assert APIClient().get(url).status_code == 401 and not Message.objects.filter(content="x").exists()


def test_an_app_key_without_the_scope_for_chat_is_refused(callers, agent):
    app = callers.client(callers.service, "app", HTTP_X_PERSON="pia")
    ApiKey.objects.update(scopes=["signals"])
    assert app.post("/api/dialogues/", {"agent": "wren"}).json()["error"]["code"] == "scope_missing"


@pytest.mark.parametrize(
    ("who", "role", "expected"),
    [
        ("trainer", "trainer", (True, False)),
        ("trainer", "person", (False, False)),
        ("operator", "operator", (False, True)),
        ("operator", "person", (False, False)),
        ("other_trainer", "trainer", (False, False)),
        ("person", "person", (False, False)),
        ("service", "app", (False, False)),
    ],
)
def test_a_turn_has_the_rights_of_the_person_narrowed_by_the_key(
    callers, agent, add, opener, who, role, expected
):
    trains, runs, anyone = (
        add("for_trainers", who="trainer"),
        add("for_operators", who="operator"),
        add("for_all"),
    )
    turns: list[Any] = []

    def see(turn: Any) -> str:
        turns.append(turn)
        return ""

    opener("test.sees", see)
    client = callers.client(getattr(callers, who), role)
    dialogue = client.post("/api/dialogues/", {"agent": "wren"}).json()["id"]
    calls = [call("for_trainers"), call("for_operators"), call("for_all")]
    body = say(client, dialogue, "Go.", {"tool_calls": calls}, "Done.").json()
    assert (turns[0].is_trainer, turns[0].is_operator) == expected
    assert (bool(trains), bool(runs), bool(anyone)) == (*expected, True)
    codes = [action["code"] for action in body["actions"]]
    assert codes == ["" if is_ok else "not_allowed" for is_ok in (*expected, True)]
