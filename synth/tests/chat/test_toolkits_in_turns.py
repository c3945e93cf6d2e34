"""The model is offered the actions of its dialogue's toolkit and can cause no other."""

from __future__ import annotations

from synth.services import toolkits, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import call, tree


def say(dialogue, *replies):
    with ScriptedHost(replies) as host, host.installed():
        turns.take(dialogue, dialogue.person, "Ring, please.")
    return host


def offered(request):
    return [tool["function"]["name"] for tool in request.json.get("tools", [])]


def test_the_kit_decides_what_is_offered_from_the_next_turn_on(dialogue, add):
    add()
    assert "bell_ring" in offered(say(dialogue, "No.").requests[0])
    row = toolkits.choose(dialogue, "companion")
    assert offered(say(row, "No.").requests[0]) == ["memory_list", "memory_read", "memory_write"]
    row = toolkits.choose(row, "talk")
    assert offered(say(row, "No.").requests[0]) == []


def test_what_is_not_in_the_kit_is_refused_also_when_the_model_asks_for_it(dialogue, add):
    rung = add()
    row = toolkits.choose(dialogue, "companion")
    say(row, {"tool_calls": [call()]}, "I cannot.")
    line = tree(row)[2][2]
    assert not rung and line.startswith("There is no such action. Available are: memory_list")
    row = toolkits.choose(row, "talk")
    say(row, 'Sure. {"actions": [{"type": "bell_ring", "payload": {}}]}', "I cannot.")
    assert not rung
