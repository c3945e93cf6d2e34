"""A model that cannot call tools asks for actions in its text; the words around them are kept."""

from __future__ import annotations

import json

import pytest

from synth.chat import asked
from synth.chat.visible import Visible
from synth.llm.messages import ToolCall
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
        '{"actions": [{"type": "bell_ring", "payload": "{\\"times\\": 2}"}]}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}}]',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}]}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}}} Done.',
        'Ok.\n```json\n{"actions": [{"type": "bell_ring", "payload": {"times": 2}\n```\nDone.',
        f"Ok.\n{RING[1:]}",
        f"```json\n{RING[1:]}\n```",
        f"{RING[1:-1]}",
        '{"actions": [{"name": "bell_ring", "arguments": {"times": 2}}]}',
        '{"actions": [{"name": "bell_ring", "arguments": "{\\"times\\": 2}"}]}',
        '{"actions": [{"type": "function", "function": {"name": "bell_ring", "arguments": {"times": 2}}}]}',
        '{"actions": [{"bell_ring": {"times": 2}}]}',
        '{"actions": {"bell_ring": {"times": 2}}}',
        '{"actions": [{"type": "bell_ring", "times": 2}]}',
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
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2',
        '{"actions": [{"type": "bell_ring", "payload": {"times": [2]',
        '{"actions": [{"type": "bell_ring", "payload": {"times": {"a": 2}',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}},',
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}} Done.',
        'So "actions": [{"type": "bell_ring", "payload": {"times": 2}}]}',
        '{"actions": [{"type": "bell_ring", "payload": {}, "approved": true}]}',
        '{"actions": [{"type": "bell_ring", "payload": {}, "arguments": {}}]}',
        '{"actions": "bell_ring"}',
        '{"actions": [{"type": 7}]}',
        '{"actions": [{"bell_ring": 2}]}',
        '{"actions": [{"payload": {"times": 2}}]}',
        '{"actions": [["bell_ring"]]}',
        '{"actions": [{"bell_ring": {}, "bell_stop": {}}]}',
        '{"why": \'no\',\n"actions": [{"type": "bell_ring"}]}',
    ],
)
def test_a_try_that_cannot_be_read_is_a_problem_and_no_guess(text):
    (item,) = asked.read(text, ()).asked
    assert item.problem


def test_no_beginning_of_an_object_is_read_as_an_action_with_half_a_payload():
    whole = '{"actions": [{"type": "pay", "payload": {"to": "Ana", "n": [1, {"x": 25}]}}, {"type": "b"}]}'
    meant = [(a.name, a.payload) for a in asked.read(whole, ()).asked]
    read = [asked.read(whole[:n], ()).asked for n in range(len(whole))]
    assert any(items and not items[0].problem for items in read)
    for items in read:
        assert all(item.problem or (item.name, item.payload) in meant for item in items)


def test_a_name_alone_is_an_action_without_a_payload():
    for text in ('{"actions": ["bell_ring"]}', '{"actions": [{"type": "bell_ring"' + "}"):
        assert [(a.name, a.payload, a.problem) for a in asked.read(text, ()).asked] == [
            ("bell_ring", None, "")
        ]


@pytest.mark.parametrize(
    "other",
    [
        RING,
        '{"actions": [{"type": "bell_ring", "payload": {"times": 2}} and so on',
        f"He wrote:\n{RING[1:]}",
        f"{RING[:-3]}, is how it goes",
    ],
)
def test_a_mended_object_that_others_may_have_written_is_a_quote(other):
    for text in (RING[:-1], RING[:-2], RING[1:]):
        assert [a.is_quoted for a in asked.read(text, (), [other]).asked] == [True]
        assert [a.is_quoted for a in asked.read(text, (), ["Ring twice."]).asked] == [False]
    is_whole = RING[1:-1] in other
    assert [a.is_quoted for a in asked.read(RING, (), [other]).asked] == [is_whole]


@pytest.mark.parametrize(
    "text", ["Ok.\n" + RING[1:], "Ok.\n```json\n" + RING[1:] + "\n```\nDone.", "Ok. " + RING[:-3] + "\n"]
)
def test_no_part_of_a_mended_object_is_shown_while_it_streams(text):
    kept = asked.read(text, ()).text
    seen = Visible()
    for char in text:
        seen.feed(char)
        assert kept.startswith(seen.shown)
    seen.finish(kept)
    assert seen.shown == kept and "actions" not in kept


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
    say(dialogue, "Ring.", 'Ok {"actions": [{"type": "bell_ring", "payload": {"times": 2', RING, "It rang.")
    assert len(rung) == 1
    first = Message.objects.filter(role="tool").order_by("id")[0]
    assert first.metadata["code"] == "invalid_payload" and "cut off" in first.content


def test_text_and_tool_calls_are_both_kept_and_the_text_is_not_read_twice(dialogue, add):
    rung = add()
    both = {"content": f"Ringing. {RING}", "tool_calls": [{"name": "bell_ring", "arguments": {"times": 3}}]}
    say(dialogue, "Ring.", both, "Done.")
    assert [p.times for p in rung] == [3]
    assert Message.objects.get(metadata__via="tools").content.startswith("Ringing.")


@pytest.mark.parametrize(
    "text",
    [
        f"I had better {RING}</think>{RING}",
        f"[THINK]I had better {RING}[/THINK]{RING}",
        f"Well. <think>I had better {RING}</think> {RING}",
        f"{RING} That is: {RING}",
    ],
)
def test_an_object_that_is_said_twice_is_done_once(text):
    wanted = asked.read(text, ())
    assert [(a.payload, a.problem) for a in wanted.asked] == [({"times": 2}, "")]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"reply": "I ring.", "actions": [{"type": "bell_ring", "payload": {}}]}', "I ring."),
        ('```json\n{"thought": "hm", "actions": [{"type": "bell_ring"}]}\n```\nDone.', "Done."),
        ('{"text": " Hi. ", "actions": [{"type": "bell_ring"}]} Bye.', "Hi.\n\nBye."),
        ('{"actions": [{"type": "bell_ring"}], "message": "Ringing!"}', "Ringing!"),
        ('{"reply": 7, "actions": [{"type": "bell_ring"}]}', ""),
    ],
)
def test_of_a_reply_that_is_one_object_only_the_words_in_it_are_kept(text, kept):
    wanted = asked.read(text, ())
    assert (wanted.text, [a.name for a in wanted.asked]) == (kept, ["bell_ring"])


def test_an_object_without_actions_stays_as_it_is():
    for text in ('{"reply": "Hi."}', '```json\n{"a": 1}\n```'):
        assert (asked.read(text, ()).text, asked.read(text, ()).asked) == (text, [])


def test_a_very_long_object_is_read_once_and_not_shown():
    payload = {"text": "x" * 100_000}
    text = f"Ok. {json.dumps({'actions': [{'type': 'bell_ring', 'payload': payload}]})} Done."
    wanted = asked.read(text, ())
    assert [(a.payload, a.problem) for a in wanted.asked] == [(payload, "")]
    assert wanted.text == "Ok.  Done."


def test_several_objects_are_all_read_and_none_is_shown():
    other = RING.replace("2", "3")
    wanted = asked.read(f"First. {RING} Then.\n```json\n{other}\n```\nDone.", ())
    assert [(a.id, a.payload) for a in wanted.asked] == [("text_1", {"times": 2}), ("text_2", {"times": 3})]
    assert "actions" not in wanted.text and wanted.text.startswith("First.") and wanted.text.endswith("Done.")


def test_what_is_too_much_is_refused_and_not_forgotten():
    items = ", ".join(['{"type": "bell_ring", "payload": {}}'] * 17)
    many = asked.read(f'{{"actions": [{items}]}}', ()).asked
    assert [bool(a.problem) for a in many] == [False] * 16 + [True] and "at most 16" in many[-1].problem
    objects = asked.read("".join(RING.replace("2", str(n)) for n in range(10)), ()).asked
    assert [bool(a.problem) for a in objects] == [False] * 9 + [True]


def test_one_that_can_be_read_hides_no_other_that_cannot():
    wanted = asked.read(f'{RING} and {{"actions": [{{"type": "bell_ring", "payload": {{', ())
    assert [bool(a.problem) for a in wanted.asked] == [False, True]


def test_beside_calls_an_object_in_the_text_is_neither_done_nor_shown():
    wanted = asked.read(f"Ringing. {RING}", (ToolCall("c1", "bell_ring", "{}"),))
    assert (wanted.text, [a.id for a in wanted.asked]) == ("Ringing.", ["c1"])


def test_a_payload_that_is_a_text_stays_one():
    for payload in ("yes", "{no object", "[1]"):
        text = json.dumps({"actions": [{"type": "bell_ring", "payload": payload}]})
        assert asked.read(text, ()).asked[0].payload == payload


def test_payloads_of_text_actions_tell_null_from_an_empty_object(dialogue, add):
    rung = add(raw_payload=True)
    text = (
        '{"actions": [{"type": "bell_ring"}, {"type": "bell_ring", "payload": null}, '
        '{"type": "bell_ring", "payload": {}}]}'
    )
    say(dialogue, "Ring.", text, "Done.")
    assert list(rung) == [None, None, {}]
