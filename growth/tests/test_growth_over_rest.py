"""Growth over REST: settings, states, runs, and who may do what."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from growth.models import GrowthRun, GrowthState
from growth.services import states
from synth.services import agents, keys, people


@pytest.fixture
def client_of(db: None, settings: Any) -> Any:
    """A client with a fresh key of that role for that person."""
    settings.RATE_PER_KEY = settings.RATE_PER_ADDRESS = 0

    def make(person: Any, role: str, **headers: str) -> APIClient:
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role=role).plain}", **headers)
        return client

    return make


@pytest.fixture
def trainers(client_of: Any, trainer: Any) -> Any:
    return client_of(trainer, "trainer")


def commit(agent, text, **lists):
    return states.commit(
        agent,
        content=text,
        likes=lists.get("likes"),
        dislikes=lists.get("dislikes"),
        source="weekly",
        created_by="test",
    )


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_settings_that_hold_are_read_with_and_without_the_last_slash(agent, trainers, slash):
    state = commit(agent, "I am.")
    body = trainers.get(f"/api/agents/wren/growth{slash}").json()
    assert body["mode"] == "on" and body["weekly_day"] == "Sunday" and body["weekly_time"] == "03:00"
    assert body["diary_days"] == 7 and body["memory_limit"] == 8 and body["overridden_by_env"] == []
    assert body["next_cycle_at"].endswith(("Z", "+00:00"))
    assert body["current"] == {"id": state.pk, "content": "I am.", "likes": ["rain"], "dislikes": ["noise"]}


def test_settings_are_changed(agent, trainers):
    answer = trainers.patch("/api/agents/wren/growth/", {"mode": "Request", "diary_days": 14}, format="json")
    assert answer.status_code == 200, answer.json()
    assert (answer.json()["mode"], answer.json()["diary_days"]) == ("request", 14)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"mode": "maybe"}, "mode"),
        ({"weekly_day": "Sun"}, "weekly_day"),
        ({"weekly_time": "25:00"}, "weekly_time"),
        ({"diary_days": 0}, "diary_days"),
        ({"diary_days": 61}, "diary_days"),
        ({"memory_limit": 51}, "memory_limit"),
        ({"next_cycle_at": "2026-01-01T00:00:00Z"}, "next_cycle_at"),
        ({"current": {"content": 5}}, "current.content"),
        ({"current": {"text": "x"}}, "current.text"),
        ({"mode": None}, "mode"),
    ],
)
def test_what_does_not_fit_is_refused_by_field(agent, trainers, body, field):
    answer = trainers.patch("/api/agents/wren/growth/", body, format="json")
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["field"] == field
    assert trainers.get("/api/agents/wren/growth/").json()["mode"] == "on"


def test_off_in_the_environment_is_shown_and_wins(agent, trainers, monkeypatch):
    monkeypatch.setenv("GROWTH_MODE", "off")
    body = trainers.get("/api/agents/wren/growth/").json()
    assert (body["mode"], body["overridden_by_env"]) == ("off", ["mode"])
    answer = trainers.patch("/api/agents/wren/growth/", {"mode": "on"}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "overridden_by_env")


def test_a_self_is_written_and_cleared_by_hand(agent, trainers):
    url = "/api/agents/wren/growth/"
    body = trainers.patch(url, {"current": {"content": "I mend.", "likes": ["glue"]}}, format="json").json()
    assert body["current"]["content"] == "I mend." and body["current"]["likes"] == ["glue"]
    body = trainers.patch(url, {"current": {"content": ""}}, format="json").json()
    assert body["current"]["content"] == "" and body["current"]["likes"] == ["glue"]


def test_states_are_listed_compared_and_restored(agent, trainers):
    old = commit(agent, "I like tea.", likes=["tea"])
    new = commit(agent, "I like plum cake.", likes=["cake"])
    page = trainers.get("/api/growth/states/?agent=wren&limit=1").json()
    assert [row["id"] for row in page["results"]] == [new.pk] and page["next"]
    row = page["results"][0]
    assert {
        "content",
        "likes",
        "dislikes",
        "source",
        "is_current",
        "created_at",
        "created_by",
        "evidence",
        "hash",
    } <= set(row)
    diff = trainers.get(f"/api/growth/states/{new.pk}/diff/?with={old.pk}").json()
    assert {"op": "delete", "text": "tea"} in diff["text"]
    assert "".join(run["text"] for run in diff["text"] if run["op"] != "delete") == new.content
    assert diff["likes"] == {"added": ["cake"], "removed": ["tea"]}
    answer = trainers.post(f"/api/growth/states/{old.pk}/restore/")
    assert answer.status_code == 201 and answer.json()["is_current"] and answer.json()["source"] == "revert"
    agent.refresh_from_db()
    assert agent.likes == ["tea"]


@pytest.mark.parametrize("other", ["", "x", "-1", "999999999999999999999999", "0"])
def test_a_diff_with_nothing_is_refused(agent, trainers, other):
    state = commit(agent, "I am.")
    assert trainers.get(f"/api/growth/states/{state.pk}/diff/?with={other}").status_code in (400, 404)


@pytest.mark.parametrize("no", [False, "false", " FALSE ", 0, "0", "no", "off"])
def test_every_no_is_a_no(agent, trainers, no):
    answer = trainers.post("/api/growth/runs/", {"agent": "wren", "dry_run": no}, format="json")
    assert answer.status_code == 202 and answer.json()["status"] == "queued"
    assert GrowthRun.objects.get(pk=answer.json()["id"]).is_dry_run is False


@pytest.mark.parametrize("unclear", ["maybe", "", None, 2, [], "nein"])
def test_an_unclear_flag_is_refused(agent, trainers, unclear):
    answer = trainers.post("/api/growth/runs/", {"agent": "wren", "dry_run": unclear}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "dry_run")
    assert not GrowthRun.objects.exists()


def test_a_second_run_is_refused_with_the_id_of_the_first(agent, trainers):
    first = trainers.post("/api/growth/runs/", {"agent": "wren"}, format="json").json()["id"]
    answer = trainers.post("/api/growth/runs/", {"agent": "wren", "force": True}, format="json")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["run"]) == (409, "cycle_running", first)
    from django.apps import apps

    entries = apps.get_model("synth", "AuditEntry").objects
    refused = entries.get(action="growth_run_request", outcome="refused")
    assert refused.reason == "cycle_running"


def test_mode_off_refuses_a_run_unless_forced(agent, trainers, monkeypatch):
    monkeypatch.setenv("GROWTH_MODE", "off")
    answer = trainers.post("/api/growth/runs/", {"agent": "wren"}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "mode_off")
    forced = trainers.post("/api/growth/runs/", {"agent": "wren", "force": "yes"}, format="json")
    assert forced.status_code == 202


def test_the_same_idempotency_key_queues_one_run(agent, trainers):
    answers = [
        trainers.post("/api/growth/runs/", {"agent": "wren"}, format="json", HTTP_IDEMPOTENCY_KEY="k1")
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert GrowthRun.objects.count() == 1


def test_a_run_is_read_with_all_that_is_known_of_it(agent, trainers):
    pk = trainers.post("/api/growth/runs/", {"agent": "wren"}, format="json").json()["id"]
    body = trainers.get(f"/api/growth/runs/{pk}/").json()
    named = {"id", "agent", "status", "reason", "n_calls", "guards", "proposal", "state", "calls", "result"}
    assert named <= set(body)
    assert body["agent"] == "wren" and body["calls"] == []
    listed = trainers.get("/api/growth/runs/?agent=wren").json()["results"]
    assert [row["id"] for row in listed] == [pk] and "calls" not in listed[0]


def test_who_may_do_what(agent, trainers, client_of, operator):
    state = commit(agent, "I am.")
    run = trainers.post("/api/growth/runs/", {"agent": "wren"}, format="json").json()["id"]
    hidden = agents.create(slug="minato", name="Minato", people=[people.ensure("other")])
    stranger = people.ensure("otto")
    agents.update(hidden, {"trainers": [stranger]}, by=None, door="command")
    secret = commit(hidden, "I hide.")
    callers = {
        "operator": (client_of(operator, "operator"), 200, 200),
        "trainer": (trainers, 200, 404),
        "operator with a person key": (client_of(operator, "person"), 403, 404),
        "other trainer": (client_of(stranger, "trainer"), 403, 200),
        "person": (client_of(people.ensure("pia"), "person"), 403, 404),
        "app": (client_of(people.ensure("frontend"), "app"), 403, 404),
        "nobody": (APIClient(), 401, 401),
    }
    for who, (client, on_seen, on_hidden) in callers.items():
        seen = [
            client.get("/api/agents/wren/growth/"),
            client.get("/api/growth/states/?agent=wren"),
            client.get(f"/api/growth/runs/{run}/"),
            client.get(f"/api/growth/states/{state.pk}/diff/?with={state.pk}"),
        ]
        assert [answer.status_code for answer in seen] == [on_seen] * 4, who
        unseen = [
            client.get("/api/agents/minato/growth/"),
            client.get("/api/growth/runs/?agent=minato"),
            client.get(f"/api/growth/states/{secret.pk}/diff/?with={secret.pk}"),
        ]
        assert [answer.status_code for answer in unseen] == [on_hidden] * 3, who
        if on_seen != 200:
            writes = [
                client.patch("/api/agents/wren/growth/", {"mode": "off"}, format="json"),
                client.post("/api/growth/runs/", {"agent": "wren"}, format="json"),
                client.post(f"/api/growth/states/{state.pk}/restore/"),
            ]
            assert [answer.status_code for answer in writes] == [on_seen] * 3, who
    assert GrowthState.objects.filter(agent=agent).count() == 1
    assert trainers.get("/api/agents/wren/growth/").json()["mode"] == "on"


def test_lists_without_an_agent_hold_only_ones_own(agent, trainers, client_of, make_agent):
    commit(agent, "I am.")
    commit(make_agent("minato"), "I hide.")
    assert [row["agent"] for row in trainers.get("/api/growth/states/").json()["results"]] == ["wren"]
    person = client_of(people.ensure("pia"), "person")
    assert person.get("/api/growth/runs/").json()["results"] == []


@pytest.mark.parametrize(
    "path",
    [
        "growth/runs/0/",
        "growth/runs/99999999999999999999999/",
        "growth/states/0/diff/",
        "growth/states/?agent=nobody",
        "growth/runs/?agent=%00",
        "agents/none/growth/",
    ],
)
def test_what_is_not_there_is_not_found(trainers, path):
    assert trainers.get(f"/api/{path}").status_code == 404


def test_a_refused_try_is_on_record_once(trainers, agent, monkeypatch):
    from django.apps import apps

    monkeypatch.setenv("GROWTH_MODE", "off")
    assert trainers.post("/api/growth/runs/", {"agent": agent.slug}).status_code == 422
    assert trainers.patch(f"/api/agents/{agent.slug}/growth/", {"mode": "on"}).status_code == 422
    entries = apps.get_model("synth", "AuditEntry").objects.filter(outcome="refused").order_by("pk")
    assert [entry.reason for entry in entries] == ["mode_off", "overridden_by_env"]
