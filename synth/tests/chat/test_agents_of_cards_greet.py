"""An agent that came with a character card says its greeting first, in a dialogue that begins here."""

from __future__ import annotations

import json

import pytest

from synth.models import Message, Sitting
from synth.openai import body
from synth.services import cards, client_threads, dialogues, people, sittings, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.asking import caller
from synth.tests.chat.conftest import tree


def card(**values):
    data = {
        "name": "Mina", "description": "Keeps a teahouse.", "personality": "", "scenario": "",
        "first_mes": "Welcome, {{user}}. Tea?", "mes_example": "",
        "alternate_greetings": ["Oh, {{user}} again!", "We are closed."],
        "character_book": {"entries": []}, "extensions": {}, **values,
    }  # fmt: skip
    whole = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    return cards.import_card(json.dumps(whole).encode(), by=None, door="command").agent


def test_the_first_greeting_stands_at_the_beginning(person):
    named = people.update(person, {"first_name": "Pia", "last_name": "Aho"}, by=person, door="rest")
    row = dialogues.create(card(), named)
    assert tree(row) == [("proactive", "complete", "Welcome, Pia Aho. Tea?")]
    assert row.active_leaf is not None
    assert row.active_leaf.metadata == {"kind": "greeting", "alternates": 2}


def test_what_is_said_follows_it_and_the_model_reads_it(person):
    row = dialogues.create(card(), person)
    with ScriptedHost(["Green, then."]) as host, host.installed():
        turns.take(row, person, "Green tea, please.")
        sent = host.requests[0].text
    assert [role for role, _, _ in tree(row)] == ["proactive", "user", "assistant"]
    assert "Welcome, pia. Tea?" in sent
    row.refresh_from_db()
    assert row.title == "Green tea, please"


@pytest.mark.parametrize("values", [{"first_mes": "", "alternate_greetings": []}, {"first_mes": " \n"}])
def test_a_card_without_one_takes_the_next_or_says_nothing(person, values):
    row = dialogues.create(card(**values), person)
    expected = [] if "alternate_greetings" in values else ["Oh, pia again!"]
    assert [content for _, _, content in tree(row)] == expected


def test_an_agent_without_a_card_waits(dialogue):
    assert tree(dialogue) == [] and dialogue.active_leaf is None


def test_a_greeting_nobody_answered_is_nothing_to_remember(person):
    row = dialogues.create(card(), person)
    dialogues.archive(row)
    sittings.end_due(row.at)
    sittings.run_waiting()
    assert Sitting.objects.get().reason == "nothing_said"


def test_an_outside_client_has_its_own_greeting(person):
    agent = card()
    raw = {"model": "synth/mina", "messages": [{"role": "user", "content": "Hello there."}]}
    opened = client_threads.begin(caller(person), agent, body.read(raw))
    assert not Message.objects.filter(role="proactive").exists()
    assert opened.dialogue.title == "Hello there"
