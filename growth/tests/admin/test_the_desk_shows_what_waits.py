"""The trainer's desk: pending proposals of my agents, oldest first; and what to do when nothing waits."""

from __future__ import annotations

from datetime import timedelta

from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from growth.models import Proposal
from growth.services import proposals, states
from growth.tests.admin.conftest import login, page
from growth.tests.proposals.desk import again, propose
from synth.services import agents

DESK = reverse("admin:growth_desk")


def shown(client: Client, path: str = DESK, **query: str | int) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_proposal_waits_with_its_age_and_its_end(proposal, trainer):
    text = shown(login(trainer))
    assert f"proposal {proposal.pk}" in text and page("proposal", proposal) in text
    assert "asked 0" in text and "expires in 1" in text and "on its way to a trainer" in text
    assert "1 change of likes" in text and "Times in UTC" in text


def test_times_stand_in_the_zone_of_the_viewer(proposal, trainer):
    trainer.timezone = "Asia/Tokyo"
    trainer.save(update_fields=["timezone"])
    text = shown(login(trainer))
    assert "Times in Asia/Tokyo" in text
    assert shown(login(trainer), page("proposal", proposal)).count("Asia/Tokyo") == 1


def test_the_oldest_stands_first_and_others_agents_are_absent(
    proposal, trainer, make_agent, live_week, operator
):
    other = make_agent("minato")
    live_week(other)
    newer = propose(other)
    Proposal.objects.filter(pk=proposal.pk).update(created_at=now() - timedelta(days=3))
    text = shown(login(operator))
    assert text.index(page("proposal", proposal)) < text.index(page("proposal", newer))
    assert page("proposal", newer) not in shown(login(trainer))


def test_trouble_and_marks_are_seen(proposal, trainer, agent):
    Proposal.objects.filter(pk=proposal.pk).update(
        delivery_status="failed", delivery_error="the host said 500", is_ungrounded=True
    )
    states.manual_edit(agent, content="I am else.", by=None, door="command")
    text = shown(login(trainer))
    assert "reached nobody" in text and "the host said 500" in text
    assert "ungrounded" in text and "out of date" in text


def test_what_ran_out_is_gone_and_the_empty_desk_says_what_to_do(proposal, trainer):
    Proposal.objects.filter(pk=proposal.pk).update(expires_at=now() - timedelta(minutes=1))
    text = shown(login(trainer))
    assert "Nothing waits for you" in text and "set its mode to request" in text and "Wren" in text
    assert again(proposal).status == "pending"


def test_a_person_without_agents_is_told_who_helps(operator):
    assert "There is no agent you train yet" in shown(login(operator))


def test_what_was_decided_stays_in_sight(proposal, trainer):
    proposals.reject(proposal.pk, by=trainer, door="rest")
    text = shown(login(trainer))
    assert "Decided lately" in text and "rejected by tomas" in text


def test_the_index_and_the_sidebar_say_how_much_waits(proposal, trainer):
    text = shown(login(trainer), reverse("admin:index"))
    assert "1 proposal waits for you" in text and DESK in text
    agents.archive(proposal.agent, by=None, door="command")
    assert DESK in shown(login(trainer), reverse("admin:index"))


def test_a_long_desk_has_pages(trainer, agent, make_agent, operator):
    for n in range(23):
        one = make_agent(f"agent-{n}")
        Proposal.objects.create(
            agent=one, content=f"I am {n}.", content_hash="x", base_hash="y", created_at=now()
        )
    first = shown(login(operator))
    last = Proposal.objects.order_by("created_at", "pk")[19]
    assert f"?after={last.pk}" in first
    second = shown(login(operator), after=last.pk)
    assert second.count("Look and decide") == 3 and "That was the last" not in second
    assert "That was the last one" in shown(login(operator), after=Proposal.objects.order_by("-pk")[0].pk)
