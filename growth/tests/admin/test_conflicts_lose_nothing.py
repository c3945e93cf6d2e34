"""A decision that comes too late: 409 with mine, theirs and base, and everything the trainer typed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from growth.models import GrowthState, Proposal
from growth.services import proposals, states
from growth.tests.admin.conftest import door, login, row_of
from growth.tests.cycles import reply, run_now
from growth.tests.proposals.desk import CONCRETE, again, audits, in_thread
from synth.services import agents, people
from synth.testing.scripted_host import ScriptedHost

MINE = {"form": "edit", "content": "I typed this.", "likes": "my like", "dislikes": "my dislike"}


def late(client: Any, name: str, row: Any, **form: Any) -> str:
    answer = client.post(door(name, row), {"hash": row.content_hash, **form})
    assert answer.status_code == 409
    return str(answer.content.decode())


def test_who_comes_second_hears_who_was_first_and_keeps_the_text(proposal, trainer, operator):
    proposals.approve(proposal.pk, by=operator, door="rest")
    text = late(login(trainer), "approve", proposal, **MINE)
    assert "Already approved by olive on" in text and "(UTC)" in text
    for word in ("Mine", "Theirs", "Base", "I typed this.", "my like", "my dislike", "Save mine as"):
        assert word in text
    assert GrowthState.objects.count() == 1
    assert ("tomas", "admin", "refused", "already_approved") in audits(action="growth_proposal_approve")


def test_the_second_click_of_the_same_person_says_you(proposal, trainer):
    client = login(trainer)
    client.post(door("approve", proposal), {"hash": proposal.content_hash})
    assert "Already approved by you" in late(client, "approve", proposal)


@pytest.mark.parametrize(
    ("name", "form", "kept"),
    [
        ("approve", {**MINE, "content": "x" * 2001}, "my like"),
        ("approve", {**MINE, "likes": "y" * 201}, "I typed this."),
        ("reject", {"feedback": "too gloomy " * 400}, "too gloomy"),
    ],
)
def test_who_comes_second_and_mistyped_keeps_the_text_too(proposal, trainer, operator, name, form, kept):
    proposals.approve(proposal.pk, by=operator, door="rest")
    assert kept in late(login(trainer), name, proposal, **form)


def test_the_kept_text_can_be_saved_by_hand(proposal, trainer, operator):
    proposals.approve(proposal.pk, by=operator, door="rest")
    client = login(trainer)
    late(client, "approve", proposal, **MINE)
    now_current = GrowthState.objects.get(is_current=True)
    client.post(door("by_hand", row_of(proposal.agent)), {**MINE, "base": now_current.pk})
    assert GrowthState.objects.get(is_current=True).content == "I typed this."


def test_after_a_manual_edit_it_is_stale_and_nothing_is_applied(proposal, trainer, agent):
    states.manual_edit(agent, content="I am else.", by=None, door="command")
    text = late(login(trainer), "approve", proposal, **MINE)
    assert "out of date" in text and "I am else." in text and "I typed this." in text
    assert again(proposal).status == "stale"
    assert GrowthState.objects.get(is_current=True).content == "I am else."


def test_a_superseded_one_offers_the_newer_with_my_text(proposal, trainer, agent):
    run_now(agent, reply(CONCRETE))
    newer = Proposal.objects.get(status="pending")
    client = login(trainer)
    text = late(client, "approve", proposal, **MINE)
    assert f"Proposal {newer.pk} waits now" in text and newer.content_hash in text
    client.post(door("approve", newer), {**MINE, "hash": newer.content_hash})
    assert GrowthState.objects.get(is_current=True).content == "I typed this."


def test_feedback_is_kept_by_reject_and_by_revise(proposal, trainer, operator):
    proposals.approve(proposal.pk, by=operator, door="rest")
    client = login(trainer)
    assert "I would say no." in late(client, "reject", proposal, feedback="I would say no.")
    with ScriptedHost([]) as host, host.installed():
        assert "Say it shorter." in late(client, "revise", proposal, feedback="Say it shorter.")


def test_a_second_wish_to_rewrite_leads_to_the_first(proposal, trainer):
    client = login(trainer)
    with ScriptedHost([]) as host, host.installed():
        client.post(door("revise", proposal), {"hash": proposal.content_hash, "feedback": "Shorter."})
        text = late(client, "revise", proposal, feedback="Longer.")
    assert "already being rewritten" in text and "Watch the rewriting" in text and "Longer." in text


@pytest.mark.parametrize("shown", ["", "0" * 64])
def test_another_hash_or_none_decides_nothing(proposal, trainer, shown):
    client = login(trainer)
    for name in ("approve", "reject"):
        answer = client.post(door(name, proposal), {"hash": shown, **MINE})
        assert answer.status_code == 409
        if name == "approve":
            text = answer.content.decode()
            assert "I typed this." in text and f"Proposal {proposal.pk} waits now" in text
    assert again(proposal).status == "pending" and not GrowthState.objects.exists()


def test_an_archived_agent_keeps_what_was_typed(proposal, trainer, agent):
    agents.archive(agent, by=None, door="command")
    text = late(login(trainer), "approve", proposal, **MINE)
    assert "archived" in text and "I typed this." in text and again(proposal).status == "pending"


def test_writing_by_hand_over_a_newer_self_is_a_conflict_too(agent, trainer):
    states.manual_edit(agent, content="I am new.", by=None, door="command")
    answer = login(trainer).post(door("by_hand", row_of(agent)), {**MINE, "base": "0"})
    text = answer.content.decode()
    assert answer.status_code == 409 and "I typed this." in text and "I am new." in text
    assert GrowthState.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_eight_browsers_approve_and_one_wins(proposal, agent):
    trainers = [people.ensure(f"trainer-{n}") for n in range(8)]
    agents.update(agent, {"trainers": trainers}, by=None, door="command")
    for one in trainers:
        one.refresh_from_db()
    clients = [login(one) for one in trainers]
    gate = Barrier(len(clients))

    def click(n: int) -> Any:
        def work() -> Any:
            gate.wait()
            form = {"hash": proposal.content_hash, "form": "edit", "content": f"I am {n}."}
            return clients[n].post(door("approve", proposal), form)

        return in_thread(work)()

    with ThreadPoolExecutor(len(clients)) as pool:
        answers = list(pool.map(click, range(len(clients))))
    codes = [answer.status_code for answer in answers]
    assert sorted(codes) == [302] + [409] * 7
    winner = codes.index(302)
    assert GrowthState.objects.get().content == f"I am {winner}."
    for n, answer in enumerate(answers):
        if n != winner:
            text = answer.content.decode()
            assert f"Already approved by trainer-{winner}" in text and f"I am {n}." in text
