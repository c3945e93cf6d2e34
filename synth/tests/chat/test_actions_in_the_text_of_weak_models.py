"""A model that cannot call tools asks for actions in its text; the words around them are kept."""

from __future__ import annotations

import pytest

from synth.chat import asked
from synth.models import Message
from synth.services import turns
from synth.testing.scripted_host import ScriptedHost

RING = '{"actions": [{"type": "bell_ring", "payload": {"times": 2}}]}'


def say(dialogue, content, *replies):
    with ScriptedHost(replies) as host, host.installed():
        return turns.take(dialogue, dialogue.person, content), host


@pytest.mark.parametrize(
    "text",
    [
        RING,
        f"Of course! {RING}",
        f"Of course!\n```json\n{RING}\n```",
        f"Of course! {RING} There you go.",
        '{“actions”: [{“type”: “bell_ring”, “payload”: {“times”: 2}}]}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2},},],}',
        '{"note": {"type": "x"}} ' + RING,
        f"<think>Should I {{\"actions\": []}}?</think> {RING}",
        '{"actions": {"type": "bell_ring", "payload": {"times": 2}}}',
        '{"thought": "ok", "actions": [{"type": "bell_ring", "payload": {"times": 2}}]}',
    ],
)  # fmt: skip
def test_an_action_is_found_in_any_of_these_texts(text):
    wanted = asked.read(text, ())
    assert [(a.name, a.payload, a.problem) for a in wanted.asked] == [("bell_ring", {"times": 2}, "")]


@pytest.mark.parametrize(
    "text",
    [
        "Hello.",
        "My actions: none.",
        'You can write "actions": [ in a file.',
        '{"action": "bell_ring"}',
        "I rang the bell.",
        '{"type": "bell_ring", "payload": {}}',
        f"<think>{RING}</think> No.",
    ],
)
def test_no_action_is_found_in_these(text):
    assert asked.read(text, ()).asked == []


@pytest.mark.parametrize(
    "text",
    [
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}}',
        '"actions": [{"type": "bell_ring", "payload": {"times": 2}}]}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}',
        '{"actions": ["bell_ring"]}',
        '{"actions": [{"name": "bell_ring", "arguments": {}}]}',
        '{"actions": [{"type": "bell_ring", "payload": {}, "approved": true}]}',
        '{"actions": "bell_ring"}',
        '{"actions": [{"type": 7}]}',
    ],
)
def test_a_try_that_cannot_be_read_is_a_problem_and_no_guess(text):
    (item,) = asked.read(text, ()).asked
    assert item.problem


def test_the_words_around_are_kept_and_results_go_back_as_text(dialogue, add):
    rung = add()
    answer, host = say(dialogue, "Ring.", f"Of course!\n```json\n{RING}\n```", "It rang.")
    assert rung[0].times == 2 and answer.content == "It rang."
    assert Message.objects.get(metadata__via="text").content == "Of course!"
    sent = host.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert (
        "The bell rang (1)." in sent[3]["content"] and "<<<data result-of-bell-ring>>>" in sent[3]["content"]
    )
    assert sent[2]["content"].startswith("Of course!") and '"bell_ring"' in sent[2]["content"]


def test_a_try_that_cannot_be_read_may_be_put_right(dialogue, add):
    rung = add()
    say(dialogue, "Ring.", 'Ok {"actions": [{"type": "bell_ring", "payload": {"times": 2}', RING, "It rang.")
    assert len(rung) == 1
    first = Message.objects.filter(role="tool").order_by("id")[0]
    assert first.metadata["code"] == "invalid_payload" and "cut off" in first.content


def test_text_and_tool_calls_are_both_kept_and_the_text_is_not_read_twice(dialogue, add):
    rung = add()
    both = {"content": f"Ringing. {RING}", "tool_calls": [{"name": "bell_ring", "arguments": {"times": 3}}]}
    say(dialogue, "Ring.", both, "Done.")
    assert [p.times for p in rung] == [3]
    assert Message.objects.get(metadata__via="tools").content.startswith("Ringing.")


def test_payloads_of_text_actions_tell_null_from_an_empty_object(dialogue, add):
    rung = add(raw_payload=True)
    text = (
        '{"actions": [{"type": "bell_ring"}, {"type": "bell_ring", "payload": null}, '
        '{"type": "bell_ring", "payload": {}}]}'
    )
    say(dialogue, "Ring.", text, "Done.")
    assert list(rung) == [None, None, {}]
