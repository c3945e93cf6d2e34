"""The loop of a turn looks at each action: a nudge reaches the model, a stop ends the turn, nothing waits."""

from __future__ import annotations

import pytest

from synth.models import Message
from synth.services import check_ins, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import call


@pytest.fixture(autouse=True)
def every_second(monkeypatch):
    monkeypatch.setenv("CHECK_IN_EVERY", "2")


def asks(*times):
    return {"content": "Ringing.", "tool_calls": [call(arguments={"times": n}) for n in times]}


def say(dialogue, *replies):
    with ScriptedHost(replies) as host, host.installed():
        answer = turns.take(dialogue, dialogue.person, "Ring on.")
    return answer, host


def choosing(choice, person, reply):
    """A reply of the model during which the person answers the card."""

    def answer(_request):
        check_ins.choose(Message.objects.get(status="streaming").pk, choice, by=person)
        return reply

    return answer


@pytest.mark.django_db(transaction=True)
def test_a_nudge_is_told_to_the_model_after_its_next_action(dialogue, person, add):
    add()
    _, host = say(dialogue, asks(1, 2), choosing("nudge", person, asks(3)), "Three rings so far.")
    assert "Check-in: 2 actions" not in host.requests[1].text
    assert "Check-in: 2 actions" in host.requests[2].text


@pytest.mark.django_db(transaction=True)
def test_a_stop_ends_the_turn_at_its_next_action(dialogue, person, add):
    rung = add()
    answer, host = say(dialogue, asks(1, 2), choosing("stop", person, asks(3, 4)), "I stopped.", "Never.")
    answer.refresh_from_db()
    assert len(host.requests) <= 3 and answer.status in ("complete", "cancelled")
    assert [payload.times for payload in rung] == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_nobody_answers_and_the_turn_goes_on_to_its_end(dialogue, add):
    rung = add()
    answer, _ = say(dialogue, asks(1, 2), asks(3, 4), "Four rings.")
    assert (answer.content, len(rung)) == ("Four rings.", 4)
