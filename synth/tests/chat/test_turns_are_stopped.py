"""A turn ends when it is told to, wherever it is: queued, thinking, speaking; what was said is kept."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from synth import actions, liveness
from synth.actions import Action, Outcome
from synth.chat import events
from synth.models import AuditEntry, LlmCall, Message, TurnState
from synth.services import turn_ends, turn_live, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import call, tree
from synth.tests.chat.running import ended, listening, names, served, told, until, words

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "one two three four five six seven eight nine ten " * 4
SLOW = {"content": TEXT, "token_s": 0.1}


def begin(dialogue, content="Hello?"):
    return turns.begin(dialogue, dialogue.person, content).answer


def test_a_queued_turn_is_over_at_once(dialogue):
    answer = begin(dialogue)
    turns.request_stop(answer.pk, "stopped", by=dialogue.person)
    ended(answer)
    assert (answer.status, answer.content, answer.metadata) == ("cancelled", "", {"reason": "stopped"})
    assert names(answer) == ["message.end"] and told(answer)[0].data["finish_reason"] == "cancelled"
    entry = AuditEntry.objects.get(action="turn_stop")
    assert (entry.actor, entry.object) == (dialogue.person, f"synth.message:{answer.pk}")
    with served("never") as host:
        time.sleep(1)
    assert not host.requests


def test_a_silent_model_is_hung_up_on(dialogue):
    with served({"hang": True}, "Hello again.") as host:
        answer = begin(dialogue)
        until(lambda: host.requests)
        began = time.monotonic()
        turns.request_stop(answer.pk, "stopped")
        assert ended(answer).status == "cancelled" and time.monotonic() - began < 15
        assert ended(begin(dialogue, "And now?")).content == "Hello again."
    assert LlmCall.objects.filter(outcome="stopped").count() == 1


def test_in_the_middle_of_the_words_those_that_were_told_are_kept(dialogue):
    with served(SLOW, "Next."):
        answer = begin(dialogue)
        until(lambda: words(answer))
        turns.request_stop(answer.pk, "left")
        ended(answer)
        assert answer.status == "cancelled" and answer.metadata["reason"] == "left"
        assert answer.content == words(answer) and TEXT.startswith(answer.content)
        assert told(answer)[-1].data["message"]["content"] == answer.content
        assert LlmCall.objects.get().response_text.startswith(answer.content)
        ended(begin(dialogue, "Go on."))
    roles = [role for role, *_ in tree(dialogue)]
    assert roles == ["user", "assistant", "user", "assistant"]


def test_a_stop_whose_message_is_lost_is_read_from_the_row(dialogue):
    with served(SLOW):
        answer = begin(dialogue)
        until(lambda: words(answer))
        TurnState.objects.filter(pk=answer.pk).update(
            stop_requested_at="2026-01-01T00:00Z", stop_reason="left"
        )
        assert ended(answer).metadata["reason"] == "left"


def test_a_stop_in_another_process_comes_over_the_channel(dialogue):
    with served({"hang": True}) as host:
        answer = begin(dialogue)
        until(lambda: host.requests)
        TurnState.objects.filter(pk=answer.pk).update(stop_reason="client_gone")
        liveness.client().publish(events.stop_channel(), str(answer.pk))
        assert ended(answer).metadata["reason"] == "client_gone"


def test_a_turn_that_was_settled_before_its_first_save_ends_too(dialogue):
    with served({"content": TEXT, "stream": {"hang_after": 3}}, grace_s=0.5):
        answer = begin(dialogue)
        until(lambda: told(answer) and told(answer)[-1].name == "delta")
        assert turn_ends.settle_crashed(timezone.now() + timedelta(minutes=2)) == 1
        until(lambda: turn_live.all_live() == [], 8)
    answer.refresh_from_db()
    assert (answer.status, answer.metadata["reason"]) == ("failed", "crashed")


def test_an_action_that_was_begun_is_finished_and_kept(dialogue, add):
    rung: list[int] = []

    def ring(turn, payload):
        rung.append(1)
        turns.request_stop(Message.objects.get(status="streaming").pk, "stopped")
        return Outcome("It rang.")

    actions.register(Action("bell_stop", "Rings.", ring, risk="reversible"))
    try:
        with served({"content": "I ring.", "tool_calls": [call("bell_stop"), call("bell_stop")]}) as host:
            answer = ended(begin(dialogue))
    finally:
        actions.unregister("bell_stop")
    assert answer.status == "cancelled" and rung == [1] and len(host.requests) == 1
    assert answer.metadata["tool_nodes"] == [Message.objects.get(role="tool").pk]


def test_stopping_twice_or_too_late_changes_nothing(dialogue):
    with served("Hello."):
        answer = ended(begin(dialogue))
    turns.request_stop(answer.pk, "stopped", by=dialogue.person)
    turns.request_stop(answer.pk + 1000, "left")
    answer.refresh_from_db()
    assert answer.status == "complete" and not AuditEntry.objects.filter(action="turn_stop").exists()


def test_whoever_waits_for_the_whole_answer_gets_what_there_is(dialogue):
    def stop(_request):
        turns.request_stop(Message.objects.get(status="streaming").pk, "stopped")
        return SLOW

    with ScriptedHost([stop]) as host, host.installed():
        answer = turns.take(dialogue, dialogue.person, "Hello?")
    assert answer.status == "cancelled" and turn_live.all_live() == []


def test_a_worker_that_ends_gives_back_what_has_not_begun_to_speak(dialogue, opener):
    seen: list[int] = []

    def greet(turn):
        seen.append(1)
        return "They greet."

    opener("test.seen", greet)
    with ScriptedHost([{"hang": True}, "Hello."]) as host, host.installed():
        with listening(grace_s=0.2):
            answer = begin(dialogue)
            until(lambda: host.requests)
        answer.refresh_from_db()
        assert (answer.status, answer.lease_until) == ("streaming", None)
        with listening():
            ended(answer)
    assert (answer.status, answer.content, len(seen)) == ("complete", "Hello.", 1)
    assert "They greet." in host.requests[1].text
    assert names(answer) == ["message.start", "delta", "message.end"]


def test_a_worker_that_ends_keeps_what_was_said(dialogue):
    with ScriptedHost([SLOW]) as host, host.installed():
        with listening(grace_s=0.2):
            answer = begin(dialogue)
            until(lambda: words(answer))
        ended(answer)
    assert (answer.status, answer.metadata["reason"]) == ("failed", "interrupted")
    assert answer.content and answer.content == words(answer)
    assert told(answer)[-1].data["code"] == "interrupted" and told(answer)[-1].data["retry_after_s"] == 1


def test_a_worker_that_ends_lets_running_turns_end(dialogue):
    with ScriptedHost([{"content": "one two three four", "token_s": 0.2}]) as host, host.installed():
        with listening():
            answer = begin(dialogue)
            until(lambda: words(answer))
        answer.refresh_from_db()
    assert (answer.status, answer.content) == ("complete", "one two three four")
