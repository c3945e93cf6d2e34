"""Approve, edit and approve, reject: what is written, who may, what everybody else hears."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from growth import tasks
from growth.models import Proposal, Revision
from growth.services import proposals, settings, states
from growth.tests.cycles import NOTE, current
from growth.tests.proposals.desk import again, audits, deliver, inbox, propose, states_of
from synth.errors import Conflict, DomainError, Invalid, NotAllowed, NotFound
from synth.prompts import assemble
from synth.services import agents, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def proposal(agent, live_week, trainer):
    live_week(agent)
    return propose(agent, likes=["tea"])


def code_of(work):
    with pytest.raises(DomainError) as caught:
        work()
    return caught.value


def test_an_approval_makes_the_state_and_sets_the_lists(agent, proposal, trainer):
    decided = proposals.approve(proposal.pk, by=trainer, door="rest", shown_hash=proposal.content_hash)
    state = current(agent)
    assert (state.content, state.likes, state.source, state.created_by) == (
        NOTE,
        ["tea"],
        "approved",
        "tomas",
    )
    agent.refresh_from_db()
    assert agent.likes == ["tea"] and agent.dislikes == ["noise"]
    assert (decided.status, decided.decided_by, decided.decided_door) == ("approved", "tomas", "rest")
    assert again(proposal).state_id == state.pk and again(proposal).applied["content"] == NOTE
    assert audits(action="growth_proposal_approve") == [("tomas", "rest", "done", "")]
    assert NOTE in assemble(agent, "chat").text


def test_an_edited_approval_keeps_both_versions(agent, proposal, trainer):
    proposals.approve(
        proposal.pk,
        by=trainer,
        door="admin",
        content="I keep what leaks.",
        likes=["glue", "noise"],
        dislikes=[],
    )
    row = again(proposal)
    assert row.content == NOTE and row.applied["content"] == "I keep what leaks."
    assert current(agent).content == "I keep what leaks." and current(agent).evidence == []
    agent.refresh_from_db()
    assert (agent.likes, agent.dislikes) == (["glue", "noise"], [])


@pytest.mark.parametrize(
    ("edits", "field"),
    [
        ({"content": " \n"}, "content"), ({"content": "\u200b"}, "content"),
        ({"content": "x" * 2001}, "content"),
        ({"content": "a\x00"}, "content"), ({"content": 5}, "content"), ({"likes": "tea"}, "likes"),
        ({"likes": [1]}, "likes"), ({"dislikes": {"a": 1}}, "dislikes"),
    ],
)  # fmt: skip
def test_edits_that_do_not_fit_change_nothing(agent, proposal, trainer, edits, field):
    with pytest.raises(Invalid) as caught:
        proposals.approve(proposal.pk, by=trainer, door="rest", **edits)
    assert caught.value.field == field
    assert again(proposal).status == "pending" and current(agent) is None


def test_a_second_decision_hears_who_and_when(agent, proposal, trainer, operator):
    proposals.approve(proposal.pk, by=trainer, door="chat")
    for late in (proposals.approve, proposals.reject):
        error = code_of(lambda late=late: late(proposal.pk, by=operator, door="rest"))
        assert (error.code, error.status) == ("already_approved", 409)
        assert (
            error.details["by"] == "tomas" and error.details["at"] == again(proposal).decided_at.isoformat()
        )
        assert "already approved by tomas at" in error.message
    assert len(states_of(agent)) == 1
    assert (
        audits(actor_label="olive", outcome="refused")
        == [("olive", "rest", "refused", "already_approved")] * 2
    )


def test_a_rejection_writes_no_state(agent, proposal, trainer):
    proposals.reject(proposal.pk, by=trainer, door="admin", feedback="Not you.")
    row = again(proposal)
    assert (row.status, row.decided_by, row.feedback) == ("rejected", "tomas", "Not you.")
    assert states_of(agent) == [] and "tea" not in assemble(agent, "chat").text
    assert code_of(lambda: proposals.approve(proposal.pk, by=trainer, door="rest")).code == "already_rejected"


def test_another_text_than_the_one_shown_is_not_applied(agent, proposal, trainer):
    for late in (proposals.approve, proposals.reject):
        error = code_of(lambda late=late: late(proposal.pk, by=trainer, door="rest", shown_hash="0" * 64))
        assert error.code == "hash_changed" and error.details["hash"] == proposal.content_hash
    assert again(proposal).status == "pending" and current(agent) is None


def edit_text(agent):
    states.manual_edit(agent, content="By hand.", by=None, door="command")


def edit_same_text(agent):
    states.manual_edit(agent, content=None, by=None, door="command")


def edit_live_lists(agent):
    agents.update(agent, {"likes": ["rain", "fog"]}, by=None, door="command")


@pytest.mark.parametrize("change", [edit_text, edit_same_text, edit_live_lists])
def test_when_its_base_changed_it_is_stale_and_nothing_is_applied(agent, proposal, trainer, change):
    change(agent)
    before = current(agent)
    error = code_of(lambda: proposals.approve(proposal.pk, by=trainer, door="rest"))
    assert error.code == "stale" and again(proposal).status == "stale" and current(agent) == before
    told = [row.title for row in inbox(trainer)]
    assert told[-1] == f"Wren: proposal {proposal.pk} is out of date"
    assert audits(action="growth_proposal_stale")[0][2] == "done"
    assert audits(action="growth_proposal_approve") == [("tomas", "rest", "refused", "stale")]
    assert code_of(lambda: proposals.approve(proposal.pk, by=trainer, door="rest")).code == "already_stale"


def test_a_revert_makes_it_stale(agent, live_week, trainer):
    live_week(agent)
    first = states.commit(agent, content="One.", likes=None, dislikes=None, source="weekly", created_by="t")
    states.commit(agent, content="Two.", likes=None, dislikes=None, source="weekly", created_by="t")
    proposal = propose(agent)
    states.restore(first.pk, by=trainer, door="admin")
    assert code_of(lambda: proposals.approve(proposal.pk, by=trainer, door="rest")).code == "stale"
    assert current(agent).content == "One."


def test_it_stays_decidable_when_the_base_only_moved_and_came_back_as_lists(agent, proposal, trainer):
    agents.update(agent, {"likes": ["fog"]}, by=None, door="command")
    agents.update(agent, {"likes": ["rain"]}, by=None, door="command")
    proposals.approve(proposal.pk, by=trainer, door="rest")
    assert current(agent).content == NOTE


@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_changed_mode_leaves_it_decidable(agent, proposal, trainer, mode):
    settings.change(agent, {"mode": mode}, by=None, door="command")
    proposals.approve(proposal.pk, by=trainer, door="rest")
    assert current(agent).content == NOTE


def test_what_ran_out_is_refused_swept_or_not(agent, proposal, trainer):
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for _ in range(2):
        assert (
            code_of(lambda: proposals.approve(proposal.pk, by=trainer, door="rest")).code == "already_expired"
        )
        assert (
            code_of(lambda: proposals.reject(proposal.pk, by=trainer, door="rest")).code == "already_expired"
        )
        proposals.expire_due(timezone.now())
    assert again(proposal).status == "expired" and again(proposal).decided_by == "growth.tend_proposals"
    assert proposals.pending(agent) is None and "NOT applied" not in assemble(agent, "chat").text


def test_what_still_has_time_is_not_expired(agent, proposal):
    assert proposals.expire_due(proposal.expires_at - timedelta(seconds=1)) == 0
    assert proposals.expire_due(proposal.expires_at) == 1
    assert proposals.expire_due(proposal.expires_at) == 0


def test_the_tick_ends_what_ran_out_and_wakes_the_worker_of_revisions(agent, proposal, monkeypatch):
    rung = []
    monkeypatch.setattr("synth.background.ring", lambda name, *args: rung.append(name))
    Revision.objects.create(proposal=proposal, feedback="x", door="rest", due_at=timezone.now())
    Proposal.objects.update(expires_at=timezone.now())
    tasks.tend_proposals()
    assert again(proposal).status == "expired" and "growth.run_revisions" in rung
    tasks.run_revisions()
    assert Revision.objects.get().reason == "already_decided"


def test_an_expired_one_makes_room_for_the_next_and_is_called_expired(agent, proposal):
    Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    propose(agent)
    assert again(proposal).status == "expired"


def test_an_archived_agent_is_not_changed(agent, proposal, trainer):
    agents.archive(agent, by=None, door="command")
    assert code_of(lambda: proposals.approve(proposal.pk, by=trainer, door="rest")).code == "agent_archived"
    assert again(proposal).status == "pending"
    proposals.reject(proposal.pk, by=trainer, door="rest")


@pytest.mark.parametrize("who", ["stranger", "former"])
def test_who_is_no_trainer_decides_nothing(agent, proposal, trainer, who):
    person = people.ensure("pia") if who == "stranger" else trainer
    if who == "former":
        agents.update(agent, {"trainers": []}, by=None, door="command")
    for work in (
        lambda: proposals.approve(proposal.pk, by=person, door="rest"),
        lambda: proposals.reject(proposal.pk, by=person, door="chat"),
    ):
        with pytest.raises(NotAllowed):
            work()
    assert again(proposal).status == "pending"
    assert len(audits(actor_label=person.username, outcome="refused")) == 2


def test_an_operator_decides_too(agent, proposal, operator):
    proposals.approve(proposal.pk, by=operator, door="rest")
    assert current(agent).created_by == "olive"


def test_what_is_not_there_is_not_found(trainer):
    with pytest.raises(NotFound):
        proposals.approve(0, by=trainer, door="rest")


def test_a_failure_in_the_middle_leaves_it_pending(agent, proposal, trainer, monkeypatch):
    monkeypatch.setattr(states, "commit", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        proposals.approve(proposal.pk, by=trainer, door="rest")
    assert again(proposal).status == "pending" and states_of(agent) == []


def test_settling_what_is_not_stale_does_nothing(agent, proposal, trainer):
    proposals.settle_stale(proposal.pk, by=trainer, door="rest")
    assert again(proposal).status == "pending"
    deliver()
    with pytest.raises(Conflict):
        proposals.approve(proposal.pk, by=trainer, door="rest", shown_hash="")
