"""Approvals over REST: seen and decided by whom they are for, once, with a key that only narrows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils.timezone import now
from pydantic import BaseModel
from rest_framework.test import APIClient

from synth import actions, registries
from synth.actions import Action, Outcome
from synth.models import Agent, Approval, ApprovalGrant
from synth.services import agents, dialogues, people
from synth.tests.api.conftest import Callers
from synth.tests.chat.asking import ask, end


class Nothing(BaseModel, extra="forbid"):
    """No arguments."""


@pytest.fixture(autouse=True)
def actions_to_ask_about(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registries.approval_judges, "_entries", {})
    for name, who in (("bell_ring", "anyone"), ("self_change", "trainer")):
        actions.register(
            Action(name, "", lambda t, a: Outcome("Done."), Nothing, risk="needs_approval", who=who)  # type: ignore[arg-type]
        )
    yield
    actions.unregister("bell_ring")
    actions.unregister("self_change")


@pytest.fixture
def asked(callers: Callers, agent: Agent) -> Approval:
    """A question in a dialogue of `person`."""
    ask(dialogues.create(agent, callers.person))
    return Approval.objects.get()


def url(row: Approval, what: str = "") -> str:
    return f"/api/approvals/{row.pk}/{what}"


def app_for(callers: Callers, username: str = "") -> APIClient:
    headers = {"HTTP_X_PERSON": username} if username else {}
    return callers.client(callers.service, "app", **headers)


def test_a_question_is_listed_read_and_decided(person: APIClient, asked: Approval) -> None:
    (row,) = person.get("/api/approvals/?status=pending").json()["results"]
    assert row == person.get(url(asked)).json()
    assert (row["action"], row["person"], row["agent"], row["message"]) == (
        "bell_ring", "pia", "wren", asked.answer_id,
    )  # fmt: skip
    assert row["scopes"] == [{"key": "bell_ring:{}", "text": "Only exactly this, with the same arguments."}]
    answer = person.post(url(asked, "decide/"), {"decision": "allow_session", "scope": 0})
    assert answer.status_code == 200, answer.content
    said = answer.json()
    assert (said["status"], said["decision"], said["decided_by"], said["decided_door"]) == (
        "allowed", "allow_session", "pia", "rest",
    )  # fmt: skip
    assert said["scope_key"] == "bell_ring:{}"
    assert person.get("/api/approvals/?status=pending").json()["results"] == []
    assert len(person.get(f"/api/approvals/?dialogue={asked.dialogue_id}").json()["results"]) == 1
    assert person.get(f"/api/approvals/?dialogue={uuid.uuid4()}").json()["results"] == []


def test_the_second_is_told_409_with_who_and_when(person: APIClient, asked: Approval) -> None:
    person.post(url(asked, "decide/"), {"decision": "deny"})
    error = person.post(url(asked, "decide/"), {"decision": "deny"})
    assert error.status_code == 409
    said = error.json()["error"]
    assert (
        said["code"] == "approval_decided"
        and said["by"] == "pia"
        and said["at"]
        and said["status"] == "denied"
    )


def test_the_same_key_gets_the_same_answer(person: APIClient, asked: Approval) -> None:
    key = {"Idempotency-Key": "k1"}
    first, second = (
        person.post(url(asked, "decide/"), {"decision": "allow_once"}, headers=key) for _ in range(2)
    )
    assert first.json() == second.json() and second.headers["Idempotency-Replayed"] == "true"


def test_too_late_is_409(person: APIClient, asked: Approval) -> None:
    Approval.objects.update(expires_at=now())
    answer = person.post(url(asked, "decide/"), {"decision": "deny"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "approval_expired")
    Approval.objects.update(expires_at=now(), status="pending")
    end(asked.answer)
    answer = person.post(url(asked, "decide/"), {"decision": "deny"}, headers={"Idempotency-Key": "k2"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "turn_ended")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "decision"), ({"decision": "perhaps"}, "decision"), ({"decision": ["deny"]}, "decision"),
        ({"decision": "allow_always", "scope": 7}, "scope"),
        ({"decision": "allow_always", "scope": -1}, "scope"),
        ({"decision": "allow_always", "scope": "x"}, "scope"), ({"decision": "deny", "why": "no"}, "why"),
        ({"decision": "allow_always", "scope": 10**6}, "scope"),
    ],
)  # fmt: skip
def test_a_bad_body_names_its_field(person: APIClient, asked: Approval, body: Any, field: str) -> None:
    answer = person.post(url(asked, "decide/"), body)
    assert answer.status_code == 400 and answer.json()["error"]["field"] == field


@pytest.mark.parametrize("query", ["?status=open", "?dialogue=seven", "?dialogue=%00"])
def test_a_bad_query_is_400(person: APIClient, query: str) -> None:
    assert person.get(f"/api/approvals/{query}").status_code == 400


def test_nobody_else_sees_or_decides_it(callers: Callers, trainer: APIClient, asked: Approval) -> None:
    others = [
        trainer,
        callers.client(callers.other_trainer, "trainer"),
        app_for(callers),
        app_for(callers, "otto"),
    ]
    for client in others[:3]:
        assert client.get("/api/approvals/").json()["results"] == []
        assert client.get(url(asked)).status_code == 404
        assert client.post(url(asked, "decide/"), {"decision": "allow_once"}).status_code == 404
    assert APIClient().post(url(asked, "decide/"), {"decision": "allow_once"}).status_code == 401
    assert trainer.post(f"/api/approvals/{uuid.uuid4()}/decide/", {"decision": "deny"}).status_code == 404
    asked.refresh_from_db()
    assert asked.status == "pending"


def test_an_app_decides_for_a_plain_person(callers: Callers, asked: Approval) -> None:
    answer = app_for(callers, "pia").post(url(asked, "decide/"), {"decision": "allow_once"})
    assert answer.status_code == 200 and answer.json()["decided_by"] == "pia"


def test_an_app_never_decides_for_a_trainer_or_operator(callers: Callers, agent: Agent) -> None:
    for owner in (callers.trainer, callers.operator):
        answer, _ = ask(dialogues.create(agent, owner))
        row = Approval.objects.get(answer=answer)
        own = callers.client(owner, "app")
        assert own.get(url(row)).status_code == 404 and own.get("/api/approvals/").json()["results"] == []
        assert own.post(url(row, "decide/"), {"decision": "allow_once"}).status_code == 404
        assert (
            app_for(callers, owner.username).post(url(row, "decide/"), {"decision": "deny"}).status_code
            == 403
        )
        row.refresh_from_db()
        assert row.status == "pending"
        end(answer)


def test_an_app_without_the_scope_for_chat_decides_nothing(callers: Callers, asked: Approval) -> None:
    from synth.services import keys

    client = APIClient()
    plain = keys.issue(callers.service, role="app", scopes=["signals"]).plain
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}", HTTP_X_PERSON="pia")
    for answer in (client.get("/api/approvals/"), client.post(url(asked, "decide/"), {"decision": "deny"})):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")


def test_a_trainers_action_is_decided_by_a_trainer_with_a_trainers_key(
    callers: Callers, agent: Agent
) -> None:
    ask(dialogues.create(agent, callers.trainer), "self_change")
    row = Approval.objects.get()
    narrow = callers.client(callers.trainer, "person")
    seen = narrow.post(url(row, "decide/"), {"decision": "allow_once"})
    assert (seen.status_code, seen.json()["error"]["code"]) == (403, "not_allowed")
    second = people.ensure("theo")
    agents.update(agent, {"trainers": [callers.trainer, second]}, by=None, door="command")
    answer = callers.client(second, "trainer").post(url(row, "decide/"), {"decision": "allow_once"})
    assert answer.status_code == 200 and answer.json()["decided_by"] == "theo"


def test_an_operator_decides_all(operator: APIClient, asked: Approval) -> None:
    assert operator.post(url(asked, "decide/"), {"decision": "deny"}).json()["decided_by"] == "olga"


def test_grants_are_listed_and_taken_back_by_their_person(
    callers: Callers, person: APIClient, trainer: APIClient, operator: APIClient, asked: Approval
) -> None:
    person.post(url(asked, "decide/"), {"decision": "allow_always"})
    (row,) = person.get("/api/approvals/grants/").json()["results"]
    assert (row["key"], row["dialogue"], row["approval"], row["revoked_at"]) == (
        "bell_ring:{}", None, str(asked.pk), None,
    )  # fmt: skip
    revoke = f"/api/approvals/grants/{row['id']}/revoke/"
    assert trainer.get("/api/approvals/grants/").json()["results"] == []
    assert trainer.post(revoke).json()["error"]["code"] == "grant_not_found"
    assert person.post(revoke).json()["revoked_at"] is not None
    again = person.post(revoke)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_revoked")
    assert person.post(f"/api/approvals/grants/{'9' * 30}/revoke/").status_code == 404
    assert len(operator.get("/api/approvals/grants/").json()["results"]) == 1


def test_an_app_of_a_trainer_sees_none_of_their_grants(callers: Callers, agent: Agent) -> None:
    ApprovalGrant.objects.create(person=callers.trainer, agent=agent, key="bell_ring:{}")
    own = callers.client(callers.trainer, "app")
    assert own.get("/api/approvals/grants/").json()["results"] == []


def test_a_complaint_is_for_what_nobody_was_asked_about_and_counts_once(
    person: APIClient, asked: Approval
) -> None:
    refused = person.post(url(asked, "should-have-asked/"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "not_automatic")
    Approval.objects.update(
        status="allowed", decided_door="judge", judgment_run=f"approvals.allow/{uuid.uuid4()}"
    )
    assert person.post(url(asked, "should-have-asked/")).status_code == 200
    twice = person.post(url(asked, "should-have-asked/"))
    said = twice.json()["error"]
    assert (twice.status_code, said["code"], said["by"]) == (409, "already_labelled", "pia")


def test_somebody_elses_automatic_one_is_not_there(trainer: APIClient, asked: Approval) -> None:
    Approval.objects.update(status="allowed", decided_door="judge")
    assert trainer.post(url(asked, "should-have-asked/")).status_code == 404
