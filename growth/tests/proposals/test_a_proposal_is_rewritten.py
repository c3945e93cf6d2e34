"""Revise: a trainer's feedback becomes a new proposal with the same guards, or the old one stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from growth.models import Proposal, Revision
from growth.services import proposals
from growth.tests.cycles import ABSTRACT, NOTE, current, reply
from growth.tests.proposals.desk import CONCRETE, again, audits, inbox, prompt_of, propose, rewrite_with
from synth.errors import Conflict, Invalid, Refused
from synth.rowqueue.runner import Patience
from synth.services import agents
from synth.testing.scripted_host import ScriptedHost

pytestmark = pytest.mark.django_db


@pytest.fixture
def proposal(agent, live_week, trainer):
    live_week(agent)
    return propose(agent, likes=["tea"])


@pytest.fixture
def with_model(monkeypatch):
    monkeypatch.setattr("django.conf.settings.LLM_BASE_URL", "http://127.0.0.1:1/v1")


def ask(proposal, trainer, feedback="Make it more concrete."):
    return proposals.revise(proposal.pk, by=trainer, door="rest", feedback=feedback)


def newest(agent):
    return Proposal.objects.filter(agent=agent).order_by("-pk")[0]


def test_the_feedback_leads_to_a_new_proposal_that_supersedes_the_old(agent, proposal, trainer, with_model):
    revision = ask(proposal, trainer)
    host = rewrite_with(reply(CONCRETE))
    new = newest(agent)
    revision.refresh_from_db()
    assert (revision.status, revision.result_id, revision.n_calls) == ("done", new.pk, 1)
    assert (new.status, new.content, new.revises_id, new.feedback) == (
        "pending",
        CONCRETE,
        proposal.pk,
        "Make it more concrete.",
    )
    assert new.likes == ["tea"], "lists that are not mentioned fall back to the old proposal's"
    assert again(proposal).status == "superseded" and current(agent) is None
    sent = prompt_of(host)
    assert NOTE in sent and "Make it more concrete." in sent and "teapot leaks" in sent
    assert "rewritten the reflection as asked" in inbox(trainer)[-1].body
    proposals.approve(new.pk, by=trainer, door="rest")
    assert current(agent).content == CONCRETE


def test_lists_that_are_mentioned_replace_the_old_proposals(agent, proposal, trainer, with_model):
    ask(proposal, trainer)
    rewrite_with(reply(CONCRETE, likes=["glue", "noise"], dislikes=[]))
    assert (newest(agent).likes, newest(agent).dislikes) == (["glue", "noise"], [])


def test_the_same_guards_hold(agent, proposal, trainer, with_model):
    ask(proposal, trainer)
    host = rewrite_with("sorry", reply(ABSTRACT), reply(CONCRETE))
    assert len(host.requests) == 3 and newest(agent).content == CONCRETE
    assert [guard["guard"] for guard in Revision.objects.get().guards] == [
        "shape",
        "shape",
        "grounding",
        "shape",
        "grounding",
    ]
    ask(newest(agent), trainer, "Shorter.")
    rewrite_with(reply(ABSTRACT), reply(ABSTRACT))
    assert newest(agent).is_ungrounded and "Marked ungrounded" in inbox(trainer)[-1].body


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (["no", "no"], "bad_shape"), ([{"status": 401}], "llm_refused"),
        ([{"content": "", "finish_reason": "content_filter"}], "content_filter"),
    ],
)  # fmt: skip
def test_a_failure_leaves_the_old_one_pending_and_tells_the_trainer(
    agent, proposal, trainer, with_model, replies, reason
):
    revision = ask(proposal, trainer)
    rewrite_with(*replies)
    revision.refresh_from_db()
    assert (revision.status, revision.reason) == ("failed", reason)
    assert again(proposal).status == "pending" and newest(agent) == proposal
    told = inbox(trainer)[-1]
    assert "was not rewritten" in told.title and "still waits for a decision" in told.body
    assert told.metadata["notice"] == f"revision-{revision.pk}"
    proposals.approve(proposal.pk, by=trainer, door="rest")


def test_host_trouble_is_tried_again_three_times(agent, proposal, trainer, with_model):
    revision = ask(proposal, trainer)
    for n in range(4):
        rewrite_with({"status": 503})
        revision.refresh_from_db()
        assert again(proposal).status == "pending"
        if n < 3:
            assert (revision.status, revision.n_host_failures) == ("queued", n + 1)
            assert revision.due_at > timezone.now() + timedelta(seconds=50)
            Revision.objects.update(due_at=timezone.now())
    assert (revision.status, revision.reason) == ("failed", "llm_unreachable")


def test_without_a_model_nothing_is_queued(agent, proposal, trainer, monkeypatch):
    monkeypatch.setattr("django.conf.settings.LLM_BASE_URL", "")
    with pytest.raises(Refused) as caught:
        ask(proposal, trainer)
    assert (caught.value.code, caught.value.status) == ("no_language_model", 422)
    assert not Revision.objects.exists() and again(proposal).status == "pending"
    assert audits(action="growth_proposal_revise") == [("tomas", "rest", "refused", "no_language_model")]


def test_one_rewriting_at_a_time(agent, proposal, trainer, with_model):
    first = ask(proposal, trainer)
    with pytest.raises(Conflict) as caught:
        ask(proposal, trainer, "Shorter.")
    assert caught.value.code == "revision_running" and caught.value.details["revision"] == first.pk


@pytest.mark.parametrize("feedback", ["", " \n", None, 5, "a\x00", "x" * 4001])
def test_feedback_that_says_nothing_is_refused(agent, proposal, trainer, with_model, feedback):
    with pytest.raises(Invalid):
        ask(proposal, trainer, feedback)
    assert not Revision.objects.exists()


@pytest.mark.parametrize("decision", ["approved", "rejected", "expired", "superseded", "archived"])
@pytest.mark.django_db(transaction=True)
def test_a_result_that_comes_too_late_is_dropped(agent, proposal, trainer, with_model, decision):
    def decide(_request):
        from django.db import connection

        if decision == "approved":
            proposals.approve(proposal.pk, by=trainer, door="admin")
        elif decision == "rejected":
            proposals.reject(proposal.pk, by=trainer, door="admin")
        elif decision == "expired":
            Proposal.objects.update(expires_at=timezone.now())
        elif decision == "archived":
            agents.archive(agent, by=None, door="command")
        else:
            propose_again(agent)
        connection.close()
        return reply(CONCRETE)

    revision = ask(proposal, trainer)
    with ScriptedHost(decide) as host, host.installed():
        proposals.revise_waiting()
    revision.refresh_from_db()
    reason = "agent_archived" if decision == "archived" else "already_decided"
    assert (revision.status, revision.reason, revision.result_id) == ("failed", reason, None)
    assert not Proposal.objects.filter(content=CONCRETE).exists()


def propose_again(agent):
    from django.db import transaction

    from growth.models import GrowthRun
    from growth.services.proposals.opening import open_new

    with transaction.atomic():
        open_new(
            agent, run=GrowthRun.objects.filter(agent=agent)[0], content="Another.", likes=[], dislikes=[],
            evidence=[], is_ungrounded=False, writer="model", at=timezone.now(),
        )  # fmt: skip


def test_a_worker_that_dies_again_and_again_gives_up(agent, proposal, trainer, with_model):
    revision = ask(proposal, trainer)
    Revision.objects.update(status="running", attempt=Patience().max_crashes)
    rewrite_with()
    revision.refresh_from_db()
    assert (revision.status, revision.reason) == ("failed", "gave_up")


def test_our_own_failure_is_tried_twice_more(agent, proposal, trainer, with_model, monkeypatch):
    revision = ask(proposal, trainer)
    monkeypatch.setattr("growth.services.context.build", lambda *_: 1 / 0)
    for _ in range(3):
        rewrite_with()
        Revision.objects.update(due_at=timezone.now())
    revision.refresh_from_db()
    assert (revision.status, revision.reason) == ("failed", "internal_error")
    assert again(proposal).status == "pending"


@pytest.mark.parametrize("reason", ["spend_cap", "local_only", "no_language_model"])
def test_other_reasons_of_the_door_end_it_too(agent, proposal, trainer, with_model, monkeypatch, reason):
    from synth.llm import LlmError

    revision = ask(proposal, trainer)

    def refuse(*_args, **_more):
        raise LlmError(reason)

    monkeypatch.setattr("growth.services.rewrite.ask_json", refuse)
    proposals.revise_waiting()
    revision.refresh_from_db()
    assert (revision.status, revision.reason) == ("failed", reason) and again(proposal).status == "pending"
