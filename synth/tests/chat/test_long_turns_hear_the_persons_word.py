"""A check-in's stop ends a turn with a last word, and its nudge reaches the model."""

from __future__ import annotations

import pytest

from synth.models import Message
from synth.services import check_ins, turns
from synth.tests.chat.conftest import call
from synth.tests.chat.running import ended, names, served, told

pytestmark = pytest.mark.django_db(transaction=True)
MORE = {"content": "More.", "tool_calls": [call()]}


@pytest.fixture
def every_two(monkeypatch):
    monkeypatch.setenv("CHECK_IN_EVERY", "2")


def begin(dialogue):
    return turns.begin(dialogue, dialogue.person, "Ring on.").answer


def test_the_viewers_are_told_and_the_turn_goes_on(dialogue, add, every_two):
    rung = add()
    with served(MORE, MORE, MORE, "Done."):
        answer = ended(begin(dialogue))
    assert answer.content == "Done." and len(rung) == 3 and names(answer).count("check_in") == 1
    card = next(event.data for event in told(answer) if event.name == "check_in")
    assert (card["n_calls"], card["mode"]) == (2, "ask") and "stop" in card["choices"]


def test_a_nudge_is_read_by_the_model(dialogue, add, every_two, monkeypatch):
    add()
    monkeypatch.setenv("CHECK_IN_MODE", "nudge")
    with served(MORE, MORE, "Done.") as host:
        assert ended(begin(dialogue)).content == "Done."
    assert "Check-in" not in host.requests[1].text
    assert host.requests[2].json["messages"][-1]["content"] == check_ins.NUDGE_LINE.format(n=2)


def test_a_stop_lets_the_model_say_a_last_word_and_do_nothing_more(dialogue, add, every_two):
    rung = add()

    def choose(_request):
        answer = Message.objects.get(status="streaming")
        check_ins.choose(answer.pk, "stop", by=dialogue.person)
        return {"tool_calls": [call(), call()]}

    with served(MORE, MORE, choose, "I stop here.") as host:
        answer = ended(begin(dialogue))
    assert (answer.status, answer.content) == ("complete", "I stop here.")
    assert len(rung) == 3 and host.requests[3].json["tool_choice"] == "none"
    last = Message.objects.filter(role="tool").order_by("-id")[0]
    assert last.metadata["code"] == "too_many"
