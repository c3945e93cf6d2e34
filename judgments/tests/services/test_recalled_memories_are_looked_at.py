"""After a turn the memory that fits the talk best is looked at; nothing follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from synth.services import agents, dialogues, memories, people, turns
from synth.testing.scripted_host import ScriptedHost

NAME = "context.candidate"


@pytest.fixture
def dialogue(db: None) -> Any:
    agent = agents.create(slug="wren", name="Wren")
    memories.write(agent, text="The blue kettle leaks at the spout.")
    memories.write(agent, text="Ada hid the blue kettle of Pia.", about=people.ensure("ada"))
    return dialogues.create(agent, people.ensure("pia"))


def say(dialogue: Any, content: str) -> str:
    with ScriptedHost(["Yes."]) as host, host.installed():
        turns.take(dialogue, dialogue.person, content)
    return host.requests[0].text


def test_the_best_memory_and_the_talk_are_asked_about(dialogue, judgments):
    judgments.mode(NAME, "audit")
    say(dialogue, "What about my blue kettle?")
    judgments.wait()
    run = judgments.runs(NAME)[0]
    assert run.session_id == f"dialogue:{dialogue.pk}" and len(judgments.runs(NAME)) == 1
    assert run.state == {
        "memory": "The blue kettle leaks at the spout.", "talk": "What about my blue kettle?",
    }  # fmt: skip


def test_a_no_changes_nothing(dialogue, judgments):
    judgments.answer(NAME, 0.01)
    say(dialogue, "What about my blue kettle?")
    judgments.wait()
    assert "leaks at the spout" in say(dialogue, "And the blue kettle now?")


def test_switched_off_or_with_nothing_to_recall_nobody_is_asked(dialogue, judgments):
    say(dialogue, "What about my blue kettle?")
    judgments.mode(NAME, "audit")
    say(dialogue, "Volcano?")
    judgments.wait()
    assert judgments.asks == [] and judgments.runs(NAME) == []
