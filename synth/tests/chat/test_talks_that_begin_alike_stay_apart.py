"""Outside clients whose talks begin with the same words each go on in their own dialogue."""

from __future__ import annotations

import pytest

from synth.models import ClientThread, Message
from synth.openai import body
from synth.schemas import Caller
from synth.services import client_threads
from synth.tests.chat.running import ended, served

pytestmark = pytest.mark.django_db(transaction=True)
HI = {"role": "user", "content": "hi"}


def begin(person, agent, *messages):
    who = Caller(person=person, key=None, is_operator=False, may_train=False)
    asked = body.read({"model": f"synth/{agent.slug}", "messages": list(messages)})
    opened = client_threads.begin(who, agent, asked)
    ended(opened.answer)
    return opened


def test_each_goes_on_where_its_answer_stands(person, agent):
    with served("One.", "Two.", "More of one.", "More of two."):
        first, second = begin(person, agent, HI), begin(person, agent, HI)
        for opened, said in ((first, "One."), (second, "Two.")):
            more = {"role": "user", "content": f"go on after {said}"}
            later = begin(person, agent, HI, {"role": "assistant", "content": said}, more)
            assert later.dialogue == opened.dialogue
            assert later.said.parent_id == opened.answer.pk


def test_more_than_are_told_apart_take_the_place_of_the_oldest(person, agent):
    n = client_threads.MAX_ALIKE + 2
    with served(*(f"Answer {at}." for at in range(n)), "More."):
        all_of_them = [begin(person, agent, HI) for _ in range(n)]
        assert ClientThread.objects.count() == client_threads.MAX_ALIKE
        said = {"role": "assistant", "content": f"Answer {n - 1}."}
        later = begin(person, agent, HI, said, {"role": "user", "content": "more"})
    assert later.said.parent_id == all_of_them[-1].answer.pk


def test_an_early_message_of_a_long_talk_is_edited_where_it_stands(person, agent):
    with served("First.", "Edited."):
        opened = begin(person, agent, HI)
        tip = opened.answer
        for n in range(client_threads.MAX_TRIES + 5):
            said = Message(dialogue=tip.dialogue, parent=tip, role="user", author=person, content=f"No. {n}")
            said.save()
            tip = Message(dialogue=tip.dialogue, parent=said, role="assistant", content=f"Yes. {n}")
            tip.save()
        first = {"role": "assistant", "content": "First."}
        later = begin(person, agent, HI, first, {"role": "user", "content": "another way"})
    assert later.dialogue == opened.dialogue
    assert later.said.parent_id == opened.answer.pk
