"""In a scratch dialogue an agent only reads; nothing of it reaches diary, memory or judgment runs."""

from __future__ import annotations

import pytest
from django.utils.timezone import now

from synth import actions
from synth.models import AuditEntry, DiaryEntry, Memory, Message, Sitting
from synth.services import dialogues, memories, sittings, turns
from synth.testing.scripted_host import Reply, ScriptedHost
from synth.tests.chat.asking import ask, turn_in
from synth.tests.chat.conftest import call

WRITE = {"name": "tea", "text": "Pia takes green tea.", "about_me": True}


@pytest.fixture
def scratch(agent, person):
    return dialogues.create(agent, person, scratch=True)


def test_only_reading_is_offered(scratch, dialogue, add):
    add("bell_ring")
    add("bell_ask", risk="needs_approval")
    add("bell_look", risk="read")
    offered = {action.name for action in actions.available(turn_in(scratch))}
    assert {"bell_look", "memory_read", "memory_list"} <= offered
    assert not offered & {"bell_ring", "bell_ask", "memory_write", "memory_forget"}
    assert {"bell_ring", "bell_ask", "memory_write"} <= {a.name for a in actions.available(turn_in(dialogue))}


@pytest.mark.parametrize("risk", ["reversible", "needs_approval"])
def test_what_is_asked_for_all_the_same_is_refused(scratch, add, risk):
    rung = add(risk=risk)
    _, outcome = ask(scratch)
    assert (outcome.is_ok, outcome.code, rung) == (False, "scratch", [])
    assert AuditEntry.objects.get(action="bell_ring").reason == "scratch"


def test_a_talk_that_wants_to_be_remembered_is_not(scratch, agent):
    memories.write(agent, text="The kettle is blue.", name="kettle")
    replies: list[Reply] = [
        {"tool_calls": [call("memory_write", WRITE), call("memory_read", {"name": "kettle"})]},
        "I cannot keep anything here.",
    ]
    with ScriptedHost(replies) as host, host.installed():
        turns.take(scratch, scratch.person, "Remember that I take green tea.")
    read = Message.objects.get(role="tool", metadata__action="memory_read")
    assert "The kettle is blue." in read.content
    assert [memory.name for memory in Memory.objects.all()] == ["kettle"]


def test_its_end_is_no_diary_entry(scratch):
    with ScriptedHost(["Hello."]) as host, host.installed():
        turns.take(scratch, scratch.person, "We have a lot to talk about today, haven't we?")
    dialogues.archive(scratch)
    assert sittings.end_due(now()) == 0
    assert not Sitting.objects.exists() and not DiaryEntry.objects.exists()
