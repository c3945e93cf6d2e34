"""A turn saves what was said and what was answered, and shows the model the branch it belongs to."""

from __future__ import annotations

import pytest
from django.db import connection

from synth.errors import Conflict, Invalid, NotFound
from synth.llm import LlmError
from synth.models import LlmCall, LlmCallPart, Message
from synth.services import agents, dialogues, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import tree


def say(dialogue, content, *replies, **values):
    with ScriptedHost(replies) as host, host.installed():
        return turns.take(dialogue, dialogue.person, content, **values), host


def test_what_is_said_and_answered_is_saved(dialogue):
    answer, host = say(dialogue, "Who are you?", "I am Wren.")
    assert tree(dialogue) == [("user", "complete", "Who are you?"), ("assistant", "complete", "I am Wren.")]
    sent = host.requests[0].json["messages"]
    assert sent[0]["role"] == "system" and "lighthouse" in sent[0]["content"]
    assert sent[1:] == [{"role": "user", "content": "Who are you?"}]
    call = LlmCall.objects.get()
    assert (call.session, call.purpose) == (f"dialogue:{dialogue.pk}", "chat")
    assert answer.fingerprint == call.fingerprint and answer.author is None
    parts = LlmCallPart.objects.filter(call=call).exclude(role="tools").order_by("position")
    assert ("user", "Who are you?") in list(parts.values_list("role", "part__text"))


def test_the_next_turn_sees_the_branch(dialogue):
    say(dialogue, "One.", "Uno.")
    _, host = say(dialogue, "Two.", "Due.")
    assert [(m["role"], m["content"]) for m in host.requests[0].json["messages"][1:]] == [
        ("user", "One."), ("assistant", "Uno."), ("user", "Two."),
    ]  # fmt: skip


def test_an_edited_message_is_a_sibling_and_the_other_branch_is_not_shown(dialogue):
    first, _ = say(dialogue, "One.", "Uno.")
    old, _ = say(dialogue, "Tow.", "Cosa?")
    new, host = say(dialogue, "Two.", "Due.", parent=first)
    assert "Tow." not in host.requests[0].text and "Uno." in host.requests[0].text
    assert new.parent.parent_id == old.parent.parent_id == first.pk
    assert tree(dialogue)[-1][2] == "Due." and Message.objects.count() == 6
    root, host = say(dialogue, "Another start.", "Yes.", at_root=True)
    assert root.parent.parent_id is None and len(host.requests[0].json["messages"]) == 2


def test_an_answer_can_be_asked_for_again(dialogue, opener):
    seen: list[str] = []

    def see(turn):
        seen.append(turn.message.content)
        return ""

    opener("test.seen", see)
    first, _ = say(dialogue, "One.", "Uno.")
    with ScriptedHost(["Eins."]) as host, host.installed():
        again = turns.retake(dialogue, dialogue.person, first.parent)
    assert again.parent_id == first.parent_id and tree(dialogue)[-1][2] == "Eins."
    assert seen == ["One."] and Message.objects.filter(role="user").count() == 1
    with pytest.raises(Invalid):
        turns.retake(dialogue, dialogue.person, again)


def test_a_parent_elsewhere_or_still_being_written_is_refused(dialogue, trainers_dialogue):
    other, _ = say(trainers_dialogue, "Mine.", "Yes.")
    with pytest.raises(NotFound):
        turns.take(dialogue, dialogue.person, "Hello", other)
    streaming = Message.objects.create(
        dialogue=dialogue, role="assistant", status="streaming", lease_until="2999-01-01T00:00Z"
    )
    with pytest.raises(Conflict) as caught:
        turns.take(dialogue, dialogue.person, "Hello", streaming)
    assert caught.value.code == "turn_running" and caught.value.details["by"] == "pia"


@pytest.mark.parametrize("content", ["", " \n", "a\x00b", "x" * (dialogues.MAX_CONTENT_CHARS + 1), None])
def test_bad_content_is_refused_and_nothing_is_saved(dialogue, content):
    with pytest.raises(Invalid) as caught:
        turns.take(dialogue, dialogue.person, content)
    assert caught.value.field == "content" and not Message.objects.exists()


def test_without_a_model_the_message_and_the_openers_work_stay(dialogue, opener, agent):
    def decide(turn):
        agents.update(agent, {"name": "Decided"}, by=None, door="task")
        return ""

    opener("test.decides", decide)
    with pytest.raises(LlmError) as caught:
        turns.take(dialogue, dialogue.person, "Hello?")
    agent.refresh_from_db()
    assert (caught.value.code, caught.value.status, agent.name) == ("no_language_model", 503, "Decided")
    assert tree(dialogue) == [("user", "complete", "Hello?"), ("assistant", "failed", "")]
    assert Message.objects.get(role="assistant").metadata["reason"] == "no_language_model"
    assert caught.value.details["message_id"] == Message.objects.get(role="assistant").pk
    _, host = say(dialogue, "Now?", "Yes.")
    assert [m["content"] for m in host.requests[0].json["messages"][1:]] == ["Hello?\n\nNow?"]


@pytest.mark.parametrize(
    ("reply", "reason", "status"),
    [
        ({"status": 429, "headers": {"Retry-After": "7"}}, "llm_overloaded", 503),
        ({"status": 400, "content": "no"}, "llm_refused", 422),
        ({"content": "", "finish_reason": "content_filter"}, "content_filter", 422),
        ({"content": "", "finish_reason": "length"}, "cut", 422),
        ({"content": " "}, "bad_shape", 422),
        ({"drop": "before"}, "llm_unreachable", 503),
    ],
)
def test_trouble_with_the_host_settles_the_answer_as_failed(dialogue, reply, reason, status):
    with pytest.raises(LlmError) as caught:
        say(dialogue, "Hello?", reply)
    assert (caught.value.code, caught.value.status) == (reason, status)
    failed = Message.objects.get(role="assistant")
    assert (failed.status, failed.metadata["reason"], failed.lease_until) == ("failed", reason, None)


def test_a_reply_cut_by_the_limit_is_kept_and_marked(dialogue):
    answer, _ = say(dialogue, "Tell.", {"content": "Once upon", "finish_reason": "length"})
    assert (answer.content, answer.metadata["is_cut"]) == ("Once upon", True)


def test_openers_put_a_line_into_the_prompt_and_a_broken_one_stops_nothing(dialogue, opener):
    from synth.models import AuditEntry

    opener("test.broken", lambda turn: 1 / 0)
    opener("test.notes", lambda turn: turn.notes.update({"test.word": "yes"}) or "They said\nyes.")
    _, host = say(dialogue, "Yes.", "Good.")
    assert "They said yes." in host.requests[0].json["messages"][0]["content"]
    entry = AuditEntry.objects.get(action="turn_opener")
    assert (entry.outcome, entry.reason, entry.actor_label) == ("failed", "ZeroDivisionError", "test.broken")


def test_the_oldest_messages_are_left_out_and_counted(dialogue, settings):
    settings.CHAT_HISTORY_CHARS = 1000
    for n in range(4):
        say(dialogue, f"Question {n} " + "x" * 300, f"Answer {n} " + "y" * 100)
    _, host = say(dialogue, "Last.", "Yes.")
    text = host.requests[0].text
    assert "Question 3" in text and "Question 0" not in text
    assert "3 earlier messages" in text and "(Earlier messages are left out.)" in text


def test_a_proactive_message_is_part_of_the_history(dialogue):
    dialogues.attach_proactive_node(dialogue, "I found your umbrella.")
    _, host = say(dialogue, "Great!", "Come and get it.")
    assert [(m["role"], m["content"]) for m in host.requests[0].json["messages"][1:]] == [
        ("user", "(You write first.)"), ("assistant", "I found your umbrella."), ("user", "Great!"),
    ]  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_proactive_message_in_the_middle_of_a_turn_ends_the_branch(dialogue):
    def reply(_request):
        dialogues.attach_proactive_node(dialogue, "By the way: rain.")
        connection.close()
        return "Hello."

    with ScriptedHost(reply) as host, host.installed():
        answer = turns.take(dialogue, dialogue.person, "Hi")
    assert [t[2] for t in tree(dialogue)] == ["Hi", "Hello.", "By the way: rain."]
    assert answer.status == "complete"


def test_an_archived_agent_does_not_answer(dialogue, agent):
    agents.archive(agent, by=None, door="command")
    with pytest.raises(Conflict) as caught:
        turns.take(dialogue, dialogue.person, "Hello?")
    assert caught.value.code == "agent_archived" and not Message.objects.exists()


def test_an_archived_dialogue_comes_back_with_a_message(dialogue):
    dialogues.archive(dialogue)
    say(dialogue, "Hello?", "Yes.")
    dialogue.refresh_from_db()
    assert dialogue.archived_at is None
