"""In mode request a finished reflection waits for a trainer, and a trainer is asked."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.apps import apps
from django.utils import timezone

from growth.models import GrowthRun, Proposal
from growth.services import cycle, runs, settings, states
from growth.tests.cycles import NOTE, current, reply, run_now
from growth.tests.proposals.desk import again, ask_first, audits, chat_with, deliver, inbox, propose
from synth.services import agents, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def lived(agent, live_week):
    live_week(agent)
    return agent


def test_nothing_is_applied_and_the_trainer_is_asked(lived, trainer):
    proposal = propose(lived, likes=["tea", "rain"])
    assert proposal.status == "pending" and current(lived) is None
    lived.refresh_from_db()
    assert lived.likes == ["rain"] and proposal.likes == ["tea", "rain"]
    assert proposal.run.status == "proposed" and proposal.run.result["self_growth"] == NOTE
    [row] = inbox(trainer)
    assert row.kind == "proposal" and row.status == "queued" and NOTE in row.body and "+ tea" in row.body
    assert row.metadata == {
        "proposal": proposal.pk,
        "agent": "wren",
        "hash": proposal.content_hash,
        "to": "trainer",
    }
    deliver()
    assert again(proposal).delivery_status == "sent" and inbox(trainer)[0].seq == 1


def test_it_knows_its_base_its_evidence_and_its_end(lived, trainer):
    old = states.commit(
        lived, content="I was.", likes=["rain"], dislikes=["noise"], source="weekly", created_by="t"
    )
    quote = {"sentence": 0, "quote": "flower pot on the balcony", "diary_ids": [1]}
    proposal = propose(lived, evidence=[quote])
    assert proposal.base_state_id == old.pk and proposal.base_content == "I was."
    assert proposal.base_hash == states.content_hash("I was.", ["rain"], ["noise"])
    assert proposal.content_hash == states.content_hash(NOTE, ["rain"], ["noise"])
    assert proposal.evidence[0]["quote"] == "flower pot on the balcony"
    assert proposal.expires_at - proposal.created_at == timedelta(days=14) and not proposal.is_ungrounded


def test_without_a_time_to_live_it_never_ends(lived, trainer):
    settings.change(lived, {"proposal_ttl_days": 0}, by=None, door="command")
    assert propose(lived).expires_at is None


def test_an_empty_list_is_proposed_and_a_missing_one_is_kept(lived, trainer):
    proposal = propose(lived, likes=[], dislikes=None)
    assert (proposal.likes, proposal.dislikes) == ([], ["noise"])
    assert "− rain" in inbox(trainer)[0].body and "Dislikes:\nno changes" in inbox(trainer)[0].body


def test_a_newer_one_supersedes_the_older_and_says_so(lived, trainer):
    first = propose(lived)
    second = propose(lived, NOTE.replace("four", "three"))
    assert again(first).status == "superseded" and again(first).decided_by == f"proposal {second.pk}"
    assert Proposal.objects.filter(agent=lived, status="pending").get() == second
    assert f"replaces proposal {first.pk}" in inbox(trainer)[-1].body
    assert audits(action="growth_proposal_superseded") == [("growth.run_cycles", "task", "done", "")]


def test_a_configured_address_comes_before_the_fallback_and_the_trainers(lived, trainer):
    box = people.ensure("office")
    settings.change(lived, {"trainer_chat_id": "inbox/office"}, by=None, door="command")
    propose(lived)
    assert len(inbox(box)) == 1 and inbox(trainer) == [] and inbox(box)[0].metadata["to"] == "path"
    settings.change(lived, {"request_interface_path": "inbox/tomas"}, by=None, door="command")
    propose(lived)
    assert len(inbox(box)) == 1 and len(inbox(trainer)) == 1


def test_every_trainer_is_asked(lived, trainer):
    other = people.ensure("mira")
    agents.update(lived, {"trainers": [trainer, other]}, by=None, door="command")
    propose(lived)
    assert len(inbox(trainer)) == len(inbox(other)) == 1


def test_without_a_trainer_it_waits_undelivered(lived):
    proposal = propose(lived)
    assert (proposal.status, proposal.delivery_status) == ("pending", "nobody")
    assert (proposal.run.status, proposal.run.reason) == ("undelivered", "nobody_to_ask")


@pytest.mark.parametrize(
    "path", ["telegram/12", "inbox/nobody-here", "dialogue/not-a-uuid", "webhook/ftp://x"]
)
def test_an_address_that_cannot_be_used_leaves_it_waiting_with_the_reason(lived, trainer, path):
    settings.change(lived, {"request_interface_path": path}, by=None, door="command")
    proposal = propose(lived)
    assert (proposal.status, proposal.delivery_status) == ("pending", "failed") and proposal.delivery_error
    assert (proposal.run.status, proposal.run.reason) == ("undelivered", "bad_target")
    assert inbox(trainer) == []


@pytest.mark.django_db(transaction=True)
def test_when_every_delivery_failed_the_run_is_undelivered_until_one_arrives(lived, trainer):
    from reminders.services import carrying

    deliveries = apps.get_model("reminders", "Delivery").objects
    proposal = propose(lived)
    deliveries.update(n_failures=carrying.MAX_TRIES)
    deliver()
    assert again(proposal).delivery_status == "failed" and again(proposal).status == "pending"
    run = GrowthRun.objects.get(pk=proposal.run_id)
    assert (run.status, run.reason) == ("undelivered", "delivery_failed")
    deliveries.update(status="queued", n_failures=0, due_at=timezone.now())
    deliver()
    run.refresh_from_db()
    assert (again(proposal).delivery_status, run.status, run.reason) == ("sent", "proposed", "")


def test_a_trial_run_proposes_nothing(lived, trainer):
    ask_first(lived)
    run, _ = run_now(lived, reply(likes=[]), dry_run=True)
    assert run.status == "dry_run" and run.result["likes"] == []
    assert not Proposal.objects.exists() and inbox(trainer) == []


def test_without_a_model_the_composer_proposes(lived, trainer, monkeypatch):
    monkeypatch.setattr("django.conf.settings.LLM_BASE_URL", "")
    ask_first(lived)
    run = runs.request(lived, by=None, door="command")
    cycle.run_waiting()
    run.refresh_from_db()
    proposal = Proposal.objects.get(run=run)
    assert (run.status, proposal.writer, proposal.status) == ("proposed", "composer", "pending")
    assert proposal.evidence and proposal.content in inbox(trainer)[0].body


def test_a_dialogue_with_another_agent_is_no_place_to_ask(lived, trainer, make_agent):
    other = make_agent("minato")
    agents.update(other, {"trainers": [trainer]}, by=None, door="command")
    elsewhere = chat_with(other, trainer)
    settings.change(lived, {"request_interface_path": f"dialogue/{elsewhere.pk}"}, by=None, door="command")
    proposal = propose(lived)
    deliver()
    assert not elsewhere.messages.exists() and proposal.deliveries == []
    assert again(proposal).delivery_status == "failed" and proposal.run.status == "undelivered"
    assert "another agent" in proposal.delivery_error and proposal.run.reason == "bad_target"
