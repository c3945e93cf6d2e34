"""Proposals over REST: read, decide, hear who was faster; who may do what."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from growth.models import Proposal, Revision
from growth.services import states
from growth.tests.cycles import NOTE, current
from growth.tests.proposals.desk import again, audits, propose, states_of
from synth.services import agents, keys, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def client_of(db: None, settings: Any) -> Any:
    settings.RATE_PER_KEY = settings.RATE_PER_ADDRESS = 0

    def make(person: Any, role: str, **headers: str) -> APIClient:
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role=role).plain}", **headers)
        return client

    return make


@pytest.fixture
def trainers(client_of: Any, trainer: Any) -> Any:
    return client_of(trainer, "trainer")


@pytest.fixture
def proposal(agent, live_week, trainer):
    live_week(agent)
    states.commit(agent, content="I was slow.", likes=None, dislikes=None, source="weekly", created_by="t")
    return propose(agent, likes=["tea"])


def url(proposal, verb=""):
    return f"/api/growth/proposals/{proposal.pk}/{verb + '/' if verb else ''}"


def test_a_proposal_is_listed_and_read(agent, proposal, trainers):
    for slash in ("", "/"):
        page = trainers.get(f"/api/growth/proposals{slash}?agent=wren&status=pending").json()
        assert [row["id"] for row in page["results"]] == [proposal.pk]
    body = trainers.get(url(proposal)).json()
    assert body == page["results"][0]
    assert (body["agent"], body["status"], body["content"], body["hash"]) == (
        "wren",
        "pending",
        NOTE,
        proposal.content_hash,
    )
    assert body["base_state"] == proposal.base_state_id and body["likes"] == ["tea"]
    assert body["diff"]["likes"] == {"added": ["tea"], "removed": ["rain"]}
    assert "".join(run["text"] for run in body["diff"]["text"] if run["op"] != "delete") == NOTE
    assert (body["decided_by"], body["decided_at"], body["ungrounded"]) == (None, None, False)
    assert body["delivery"] == {"status": "waiting", "error": ""} and body["expires_at"]
    assert trainers.get("/api/growth/proposals/?status=approved").json()["results"] == []
    run = trainers.get(f"/api/growth/runs/{proposal.run_id}/").json()
    assert (run["status"], run["proposal"]) == ("proposed", proposal.pk)
    assert trainers.get("/api/agents/wren/growth/").json()["pending_proposal"] == proposal.pk


def test_reading_changes_nothing(agent, proposal, trainers):
    before = Proposal.objects.values().get()
    trainers.get(url(proposal)), trainers.get("/api/growth/proposals/")
    for verb in ("approve", "reject", "revise"):
        assert trainers.get(url(proposal, verb)).status_code == 405
    assert Proposal.objects.values().get() == before


def test_it_is_approved_once_and_the_second_hears_who_and_when(
    agent, proposal, trainers, client_of, operator
):
    answer = trainers.post(url(proposal, "approve"), {"hash": proposal.content_hash}, format="json")
    assert answer.status_code == 200, answer.json()
    assert (answer.json()["status"], answer.json()["decided_by"]) == ("approved", "tomas")
    assert answer.json()["state"] == current(agent).pk and answer.json()["applied"]["likes"] == ["tea"]
    late = client_of(operator, "operator").post(url(proposal, "approve"))
    error = late.json()["error"]
    assert (late.status_code, error["code"], error["by"]) == (409, "already_approved", "tomas")
    assert error["at"] == again(proposal).decided_at.isoformat()
    assert trainers.post(url(proposal, "reject")).status_code == 409


def test_it_is_edited_and_approved(agent, proposal, trainers):
    body = {"content": "I keep what leaks.", "likes": [], "dislikes": ["haste"]}
    answer = trainers.post(url(proposal, "approve"), body, format="json").json()
    assert answer["content"] == NOTE and answer["applied"] == body
    agent.refresh_from_db()
    assert (agent.likes, agent.dislikes) == ([], ["haste"])


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"hash": "0" * 64}, 409, "hash_changed"), ({"hash": ""}, 400, None), ({"content": " "}, 400, None),
        ({"content": "x" * 2001}, 400, None), ({"content": None}, 400, None), ({"likes": "tea"}, 400, None),
        ({"approve": True}, 400, None), ({"content": "a\x00"}, 400, None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(agent, proposal, trainers, body, status, code):
    answer = trainers.post(url(proposal, "approve"), body, format="json")
    assert answer.status_code == status and (code is None or answer.json()["error"]["code"] == code)
    assert again(proposal).status == "pending"


@pytest.mark.parametrize("headers", [{}, {"HTTP_IDEMPOTENCY_KEY": "k1"}])
def test_a_stale_one_is_refused_and_marked_with_a_key_too(agent, proposal, trainers, headers):
    states.manual_edit(agent, content="By hand.", by=None, door="command")
    answer = trainers.post(url(proposal, "approve"), {}, format="json", **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "stale")
    assert again(proposal).status == "stale" and current(agent).content == "By hand."


def test_a_repeated_approval_with_a_key_gets_the_same_answer(agent, proposal, trainers):
    answers = [
        trainers.post(url(proposal, "approve"), {}, format="json", HTTP_IDEMPOTENCY_KEY="k1")
        for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [200, 200] and answers[0].json() == answers[1].json()
    assert len(states_of(agent)) == 2


def test_it_is_rejected(agent, proposal, trainers):
    answer = trainers.post(url(proposal, "reject"), {"feedback": "Not you."}, format="json")
    assert (answer.status_code, answer.json()["status"], answer.json()["feedback"]) == (
        200,
        "rejected",
        "Not you.",
    )
    assert len(states_of(agent)) == 1


def test_a_revision_is_queued(agent, proposal, trainers, settings):
    settings.LLM_BASE_URL = "http://127.0.0.1:1/v1"
    answer = trainers.post(url(proposal, "revise"), {"feedback": "Shorter."}, format="json")
    assert answer.status_code == 202 and answer.json()["status"] == "queued"
    assert answer.json()["proposal"] == proposal.pk
    assert trainers.get(url(proposal)).json()["revisions"][0]["id"] == answer.json()["id"]
    again_ = trainers.post(url(proposal, "revise"), {"feedback": "Longer."}, format="json")
    assert (again_.status_code, again_.json()["error"]["code"]) == (409, "revision_running")


def test_without_a_model_a_revision_is_refused(agent, proposal, trainers, settings):
    settings.LLM_BASE_URL = ""
    answer = trainers.post(url(proposal, "revise"), {"feedback": "Shorter."}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "no_language_model")
    assert not Revision.objects.exists() and again(proposal).status == "pending"


@pytest.mark.parametrize("body", [{}, {"feedback": ""}, {"feedback": " "}, {"feedback": 5}, {"text": "x"}])
def test_a_revision_needs_words(agent, proposal, trainers, settings, body):
    settings.LLM_BASE_URL = "http://127.0.0.1:1/v1"
    assert trainers.post(url(proposal, "revise"), body, format="json").status_code == 400


def test_who_may_do_what(agent, proposal, trainer, trainers, client_of, operator, settings):
    settings.LLM_BASE_URL = "http://127.0.0.1:1/v1"
    mira, pia, app = people.ensure("mira"), people.ensure("pia"), people.ensure("frontend")
    agents.create(slug="minato", name="Minato", trainers=[mira])
    refused = {
        "other trainer": (client_of(mira, "trainer"), 403), "person": (client_of(pia, "person"), 403),
        "a trainer's person key": (client_of(trainer, "person"), 403), "app": (client_of(app, "app"), 403),
        "app for a person": (client_of(app, "app", HTTP_X_PERSON="pia"), 403),
        "app for the trainer": (client_of(app, "app", HTTP_X_PERSON="tomas"), 403),
        "app for the operator": (client_of(app, "app", HTTP_X_PERSON="olive"), 403),
        "nobody": (APIClient(), 401),
    }  # fmt: skip
    for who, (client, status) in refused.items():
        answers = [
            client.get(url(proposal)), client.get("/api/growth/proposals/?agent=wren"),
            client.post(url(proposal, "approve")), client.post(url(proposal, "reject")),
            client.post(url(proposal, "revise"), {"feedback": "x"}, format="json"),
        ]  # fmt: skip
        assert [answer.status_code for answer in answers] == [status] * 5, who
    assert again(proposal).status == "pending" and not Revision.objects.exists()
    hidden = agents.create(slug="hidden", name="Hidden", people=[mira], trainers=[mira])
    secret = Proposal.objects.create(agent_id=hidden.pk, content="x", base_hash="", content_hash="")
    assert trainers.get(url(secret)).status_code == trainers.post(url(secret, "approve")).status_code == 404
    assert client_of(operator, "operator").post(url(proposal, "approve")).status_code == 200
    assert audits(action="growth_proposal_approve") == [("olive", "rest", "done", "")]


@pytest.mark.parametrize("path", ["0/", "x/", "99999999999999999999/", "0/approve/"])
def test_what_is_not_there_is_not_found(trainers, path):
    method = trainers.post if "approve" in path else trainers.get
    assert method(f"/api/growth/proposals/{path}").status_code == 404


def test_an_unknown_status_is_refused(agent, trainers):
    answer = trainers.get("/api/growth/proposals/?status=maybe")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "status")
