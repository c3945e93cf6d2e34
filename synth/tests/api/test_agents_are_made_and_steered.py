"""Agents over REST: made by operators, steered by trainers, seen by persons."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from synth.models import Agent, AuditEntry, OutboxEvent


def test_an_operator_makes_an_agent(operator: APIClient, callers) -> None:
    answer = operator.post(
        "/api/agents/",
        {
            "slug": "juno",
            "name": "Juno",
            "persona": "Calm.",
            "likes": [" tea ", "Tea", ""],
            "dislikes": ["TEA", "rain"],
            "timezone": "Europe/Rome",
            "language": "it",
            "trainers": ["tara"],
        },
    )
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert made["likes"] == ["tea"] and made["dislikes"] == ["rain"]
    assert made["founding_persona"] == "Calm." and made["trainers"] == ["tara"]
    agent = Agent.objects.get(slug="juno")
    assert OutboxEvent.objects.filter(name="synth.agent_created", payload={"agent_id": agent.pk}).exists()
    assert AuditEntry.objects.get(action="agent_create").actor == callers.operator
    callers.trainer.refresh_from_db()
    assert callers.trainer.is_staff and callers.trainer.groups.filter(name="trainers").exists()


@pytest.mark.parametrize("path", ["/api/agents", "/api/agents/"])
def test_both_forms_of_a_path_take_get_and_post(operator: APIClient, path: str) -> None:
    assert operator.get(path).status_code == 200
    assert operator.post(path, {"slug": "a1", "name": "A"}).status_code == 201


@pytest.mark.parametrize("slug", ["import", "runs", "report", "me", "ME"])
def test_reserved_slugs_are_refused(operator: APIClient, slug: str) -> None:
    answer = operator.post("/api/agents/", {"slug": slug, "name": "X"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "slug_reserved")
    assert AuditEntry.objects.get(outcome="refused").reason == "slug_reserved"


def test_a_taken_slug_is_a_conflict(operator: APIClient, agent: Agent) -> None:
    answer = operator.post("/api/agents/", {"slug": "WREN", "name": "X"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "slug_taken")
    assert AuditEntry.objects.get(outcome="refused").reason == "slug_taken"


def test_an_unknown_trainer_is_named(operator: APIClient) -> None:
    answer = operator.post("/api/agents/", {"slug": "x", "name": "X", "trainers": ["nobody"]})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "trainers"


def test_a_trainer_changes_the_persona_and_the_founding_one_stays(trainer: APIClient, agent: Agent) -> None:
    answer = trainer.patch("/api/agents/wren/", {"persona": "A bigger bird.", "likes": ["seeds"]})
    assert answer.status_code == 200, answer.content
    assert answer.json()["persona"] == "A bigger bird."
    assert answer.json()["founding_persona"] == "A small bird."
    event = OutboxEvent.objects.get(name="synth.agent_changed")
    assert event.payload == {"agent_id": agent.pk, "fields": ["likes", "persona"]}
    assert AuditEntry.objects.get(action="agent_update").before == {"persona": "A small bird.", "likes": []}


def test_a_change_that_changes_nothing_leaves_no_trace(trainer: APIClient, agent: Agent) -> None:
    assert trainer.patch("/api/agents/wren/", {"name": "Wren"}).status_code == 200
    assert not OutboxEvent.objects.filter(name="synth.agent_changed").exists()


@pytest.mark.parametrize(
    "body",
    [{"trainers": []}, {"people": []}, {"slug": "x"}, {"local_only": False}, {"daily_token_cap": None}],
)
def test_what_only_an_operator_changes_is_refused_to_a_trainer(
    trainer: APIClient, agent: Agent, body: dict[str, object]
) -> None:
    answer = trainer.patch("/api/agents/wren/", body)
    assert answer.status_code == 403
    assert answer.json()["error"] == {
        "code": "not_allowed",
        "message": "Only an operator may change this.",
        "field": next(iter(body)),
    }
    assert AuditEntry.objects.get(outcome="refused").reason == "not_allowed"


def test_the_founding_persona_cannot_be_set(operator: APIClient, agent: Agent) -> None:
    answer = operator.patch("/api/agents/wren/", {"founding_persona": "x"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "founding_persona")


def test_a_person_sees_only_the_open_fields(person: APIClient, agent: Agent) -> None:
    assert set(person.get("/api/agents/wren/").json()) == {
        "slug",
        "name",
        "language",
        "likes",
        "dislikes",
        "timezone",
    }


def test_an_archived_agent_is_gone_for_persons_and_closed_for_trainers(
    person: APIClient, trainer: APIClient, agent: Agent
) -> None:
    from synth.services import agents

    agents.archive(agent, by=None, door="command")
    assert person.get("/api/agents/wren/").status_code == 404
    assert trainer.get("/api/agents/wren/").json()["archived_at"]
    assert trainer.patch("/api/agents/wren/", {"name": "W"}).status_code == 409
    assert trainer.post("/api/agents/wren/diary/", {"content": "x"}).status_code == 409
    assert trainer.get("/api/agents/").json()["results"] == []
    assert [a["slug"] for a in trainer.get("/api/agents/?archived=true").json()["results"]] == ["wren"]
