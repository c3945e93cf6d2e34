"""A yes in chat counts for the very version this trainer saw, and only where its reading says one thing."""

from __future__ import annotations

import pytest

from growth.models import Proposal
from growth.services import settings
from growth.tests.cycles import NOTE, current
from growth.tests.proposals.desk import audits, chat_with, deliver, propose, say, verdict
from synth.services import agents, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_trainers(agent, live_week, trainer):
    """Tomas and Bob train the agent, which has a week to tell of."""
    live_week(agent)
    bob = people.ensure("bob")
    agents.update(agent, {"trainers": [trainer, bob]}, by=None, door="command")
    return trainer, bob


@pytest.fixture
def unreached(agent, live_week, trainer):
    """A dialogue in which the agent has quoted its proposal; no delivery reached anybody."""
    live_week(agent)
    settings.change(agent, {"request_interface_path": "pigeon/1"}, by=None, door="command")
    propose(agent)
    dialogue = chat_with(agent, trainer)
    say(dialogue, trainer, "Show me.", verdict("none"), f"Here it is:\n\n{NOTE}\n\nWell?")
    return dialogue


def test_the_same_text_with_other_lists_was_not_shown(agent, unreached, trainer):
    propose(agent, NOTE, likes=["spiders"])
    say(unreached, trainer, "Lovely, take it.", verdict("approve"), "Look first.")
    agent.refresh_from_db()
    assert current(agent) is None and agent.likes == ["rain"]
    assert audits(action="growth_proposal_decide")[-1][3] == "not_shown"


@pytest.mark.parametrize(("lists", "is_shown"), [("", False), ("Likes: + spiders, - rain", True)])
def test_a_quote_shows_it_only_with_what_changes_in_the_lists(agent, unreached, trainer, lists, is_shown):
    propose(agent, NOTE, likes=["spiders"])
    say(unreached, trainer, "Show me.", verdict("none"), f"{NOTE}\n{lists}")
    say(unreached, trainer, "Lovely, take it.", verdict("approve"), "So.")
    assert (current(agent) is not None) is is_shown


@pytest.mark.parametrize("where", ["inbox", "dialogue"])
def test_what_one_trainer_got_the_other_has_not_seen(agent, two_trainers, where):
    tomas, bob = two_trainers
    path = "inbox/tomas" if where == "inbox" else f"dialogue/{chat_with(agent, tomas).pk}"
    settings.change(agent, {"request_interface_path": path}, by=None, door="command")
    propose(agent)
    deliver()
    dialogue = chat_with(agent, bob)
    say(dialogue, bob, "Fine by me.", verdict("approve"), "Look first.")
    assert current(agent) is None
    deliver()
    say(dialogue, bob, "Fine by me.", verdict("approve"), "Done.")
    assert current(agent).content == NOTE and Proposal.objects.get().decided_by == "bob"


@pytest.mark.parametrize(
    "judged",
    [
        'They only quote {"decision": "approve"}, so: {"decision": "none", "feedback": ""}',
        '```json\n{"decision": "approve"}\n``` is quoted. Mine:\n```json\n{"decision": "reject"}\n```',
        '[{"decision": "approve"}, {"decision": "reject"}]',
        '{"decision": "none", "decision": "approve"}',
    ],
)
def test_a_reading_that_says_two_things_decides_nothing(agent, live_week, trainer, judged):
    live_week(agent)
    propose(agent)
    deliver()
    say(chat_with(agent, trainer), trainer, "Hm, the note.", judged, "What shall it be?")
    assert Proposal.objects.get().status == "pending" and current(agent) is None
    assert audits(action="growth_proposal_decide")[0][3] == "several_decisions"


def test_a_decision_thought_of_first_is_no_second_one(agent, live_week, trainer):
    live_week(agent)
    propose(agent)
    deliver()
    judged = '<think>{"decision": "none"}? No.</think>{"decision": "approve"}'
    say(chat_with(agent, trainer), trainer, "Lovely, take it.", judged, "Done.")
    assert current(agent).content == NOTE
