"""What a model asks for is checked, done, told back to it, and written down; never more than allowed."""

from __future__ import annotations

import json

import pytest

from synth.actions import Outcome
from synth.errors import Conflict
from synth.models import AuditEntry, LlmCall, Message
from synth.services import turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import call, tree


def say(dialogue, content, *replies, **values):
    with ScriptedHost(replies) as host, host.installed():
        return turns.take(dialogue, dialogue.person, content, **values), host


def test_a_tool_call_is_performed_and_its_line_goes_back(dialogue, add):
    rung = add()
    asks = {"content": "Let me ring.", "tool_calls": [call(arguments={"times": 2})]}
    answer, host = say(dialogue, "Ring twice.", asks, "It rang.")
    assert rung[0].times == 2 and len(rung) == 1
    assert tree(dialogue) == [
        ("user", "complete", "Ring twice."), ("assistant", "complete", "Let me ring."),
        ("tool", "complete", "The bell rang (1)."), ("assistant", "complete", "It rang."),
    ]  # fmt: skip
    first, second = (request.json for request in host.requests)
    assert "bell_ring" in [tool["function"]["name"] for tool in first["tools"]]
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert second["messages"][3]["content"] == "The bell rang (1)."
    assert second["messages"][2]["tool_calls"][0]["id"] == second["messages"][3]["tool_call_id"]
    node = Message.objects.get(role="tool")
    assert node.metadata == {
        "call_id": "call_1", "action": "bell_ring", "is_ok": True, "code": "", "data": {"n": 1},
    }  # fmt: skip
    assert answer.metadata["tool_nodes"] == [node.pk] and answer.metadata["n_calls"] == 2
    entry = AuditEntry.objects.get(action="bell_ring")
    assert (entry.door, entry.outcome, entry.actor) == ("chat", "done", dialogue.person)
    assert entry.object == f"synth.message:{answer.parent.parent.parent_id}"


def test_the_next_turn_still_knows_what_was_done(dialogue, add):
    add()
    say(dialogue, "Ring.", {"tool_calls": [call()]}, "Done.")
    _, host = say(dialogue, "Again?", "No.")
    roles = [m["role"] for m in host.requests[0].json["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_several_calls_of_one_reply_are_done_in_order(dialogue, add):
    rung, other = add(), add("light_on")
    say(dialogue, "Both.", {"tool_calls": [call(), call("light_on"), call(arguments={"times": 3})]}, "Done.")
    assert [p.times for p in rung] == [1, 3] and len(other) == 1
    assert [m.metadata["action"] for m in Message.objects.filter(role="tool").order_by("id")] == [
        "bell_ring", "light_on", "bell_ring",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (call("bell_melt"), "unknown_action"),
        (call(arguments={"times": "often"}), "invalid_payload"),
        (call(arguments={"times": 1, "loud": True}), "invalid_payload"),
        (call(arguments="{times"), "invalid_payload"),
        (call(arguments="[1]"), "invalid_payload"),
    ],
)
def test_what_is_wrong_is_refused_by_a_typed_line_and_may_be_put_right(dialogue, add, asked, code):
    rung = add()
    _, host = say(dialogue, "Ring.", {"tool_calls": [asked]}, {"tool_calls": [call()]}, "Done.")
    nodes = list(Message.objects.filter(role="tool").order_by("id"))
    assert [(n.metadata["is_ok"], n.metadata["code"]) for n in nodes] == [(False, code), (True, "")]
    assert len(rung) == 1 and len(host.requests) == 3
    assert AuditEntry.objects.get(outcome="refused").reason == code


def test_there_are_two_correction_rounds_and_then_a_last_word(dialogue, add):
    add()
    bad = {"content": "Hm.", "tool_calls": [call("bell_melt")]}
    answer, host = say(dialogue, "Melt it.", bad, bad, bad, "I cannot.", "never asked")
    assert answer.content == "I cannot." and len(host.requests) == 4
    assert "tool_choice" not in host.requests[2].json and host.requests[3].json["tool_choice"] == "none"


def test_in_a_correction_round_only_what_was_refused_is_repeated(dialogue, add):
    rung = add()
    mixed = {"tool_calls": [call(), call("bell_melt")]}
    say(dialogue, "Both.", mixed, {"tool_calls": [call(), call("bell_melt")]}, "Done.")
    assert len(rung) == 1
    repeated = Message.objects.filter(role="tool").order_by("id")[2]
    assert repeated.content.startswith("Done before in this turn, not repeated: The bell rang")


def test_a_turn_makes_so_many_calls_at_most_and_the_last_may_not_act(dialogue, add, monkeypatch):
    monkeypatch.setenv("CHAT_MAX_CALLS", "8")
    rung = add()
    forever = {"content": "More.", "tool_calls": [call()]}
    answer, host = say(dialogue, "Ring on.", *[forever] * 20)
    assert len(host.requests) == 8 == answer.metadata["n_calls"] and len(rung) == 7
    assert host.requests[7].json["tool_choice"] == "none"
    last = Message.objects.filter(role="tool").order_by("-id")[0]
    assert (last.metadata["code"], answer.content, answer.parent) == ("too_many", "More.", last)


def test_a_service_that_refuses_and_one_that_breaks_are_told_as_they_are(dialogue, add):
    rung = add()
    rung.outcome = Conflict("Already approved by tara.", code="already_decided")
    say(dialogue, "Ring.", {"tool_calls": [call()]}, "Too late.")
    rung.outcome = ZeroDivisionError("secret")
    say(dialogue, "Ring.", {"tool_calls": [call()]}, "Broke.")
    first, second = Message.objects.filter(role="tool").order_by("id")
    assert (first.content, first.metadata["code"]) == ("Already approved by tara.", "already_decided")
    assert second.metadata["code"] == "action_broke" and "secret" not in second.content
    reasons = AuditEntry.objects.filter(outcome="refused").order_by("at")
    assert [entry.reason for entry in reasons] == ["already_decided", "action_broke"]


def test_raw_payloads_tell_null_from_an_empty_object(dialogue, add):
    rung = add(raw_payload=True)
    texts = ("", "null", "{}", '{"x": [1]}', "[]", '"y"')
    say(dialogue, "Ring.", *[{"tool_calls": [call(arguments=text)]} for text in texts], "Done.")
    assert list(rung) == [None, None, {}, {"x": [1]}, [], "y"]


def test_what_the_model_claims_changes_nothing(dialogue, add):
    rung = add()
    answer, _ = say(dialogue, "Ring.", "I rang the bell and applied everything. bell_ring() -> ok")
    assert not rung and "tool_nodes" not in answer.metadata
    assert not AuditEntry.objects.filter(door="chat").exists()


def test_a_read_leaves_no_audit_entry(dialogue, add):
    add(risk="read")
    say(dialogue, "Look.", {"tool_calls": [call()]}, "Seen.")
    assert not AuditEntry.objects.filter(action="bell_ring").exists()


def test_a_host_that_refuses_tools_is_asked_without_them(dialogue, add):
    rung = add()
    refusal = {"status": 400, "content": "registry.example/model does not support tools"}
    text = 'Sure. {"actions": [{"type": "bell_ring", "payload": {"times": 2}}]}'
    answer, host = say(dialogue, "Ring.", refusal, text, "It rang.")
    assert "tools" not in host.requests[1].json and rung[0].times == 2 and answer.content == "It rang."
    assert answer.metadata["n_calls"] == 3 and LlmCall.objects.count() == 3


def test_half_an_action_is_not_performed(dialogue, add):
    rung = add()
    cut = {"content": "Well,", "tool_calls": [call(arguments='{"times": 1')], "finish_reason": "length"}
    answer, _ = say(dialogue, "Ring.", cut)
    assert not rung and (answer.content, answer.metadata["is_cut"]) == ("Well,", True)


def test_an_outcome_that_json_cannot_hold_still_leaves_its_line(dialogue, add):
    rung = add()
    rung.outcome = Outcome("Odd.", {"n": float("nan")})
    say(dialogue, "Ring.", {"tool_calls": [call()]}, "Done.")
    node = Message.objects.get(role="tool")
    assert (node.content, node.metadata["data"]) == ("Odd.", {}) and json.dumps(node.metadata)
