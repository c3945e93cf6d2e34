"""A turn that needs a person's word is laid aside, holds nothing, and goes on anywhere once there is one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from synth.errors import Conflict
from synth.models import Approval, Message, Person, TurnState
from synth.services import agents, approvals, dialogues, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.asking import caller, only
from synth.tests.chat.conftest import call, tree
from synth.tests.chat.running import ended, listening, names, served, told, until, words
from synth.tests.chat.test_one_answer_at_a_time import database

pytestmark = pytest.mark.django_db(transaction=True)
ASKS = {"content": "May I?", "tool_calls": [call("light_on"), call(), call("light_on", {"times": 2})]}


def begin(dialogue, content="Ring."):
    return turns.begin(dialogue, dialogue.person, content).answer


def aside(answer):
    """The row once its turn is laid aside."""
    until(lambda: Message.objects.filter(pk=answer.pk, lease_until=None, due_at__gt=timezone.now()).exists())
    until(lambda: any(event.name == "approval" for event in told(answer)))
    answer.refresh_from_db()
    return answer


def decide(dialogue, decision="allow_once"):
    return approvals.decide(only().pk, decision, by=caller(dialogue.person), door="rest")


@pytest.fixture
def bell(add):
    return add(risk="needs_approval"), add("light_on")


def test_what_was_asked_for_is_done_after_the_word_and_the_turn_goes_on(dialogue, bell):
    rung, light = bell
    with ScriptedHost([ASKS, "It rang."]) as host, host.installed():
        with listening():
            answer = aside(begin(dialogue))
        assert (answer.status, len(rung), len(light)) == ("streaming", 0, 1)
        assert answer.due_at == only().expires_at and TurnState.objects.get().loop["n_calls"] == 1
        assert names(answer)[-1] == "approval" and told(answer)[-1].data["approval"]["status"] == "pending"
        assert told(answer)[-1].data["type"] == "tool-approval-request"
        decide(dialogue)
        with listening():
            ended(answer)
    assert (answer.status, answer.content, words(answer)) == ("complete", "It rang.", "It rang.")
    assert len(rung) == 1 and [p.times for p in light] == [1, 2]
    asked = [e.data["approval"]["status"] for e in told(answer) if e.name == "approval"]
    assert asked == ["pending", "allowed"]
    sent = host.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert [m["content"] for m in sent[3:]] == [
        "The bell rang (1).", "The bell rang (1).", "The bell rang (2).",
    ]  # fmt: skip
    assert [c["function"]["arguments"] for c in sent[2]["tool_calls"]] == ["{}", "{}", '{"times": 2}']
    assert [t[0] for t in tree(dialogue)] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert len(answer.metadata["tool_nodes"]) == 3 and answer.metadata["n_calls"] == 2
    assert answer.metadata["usage"]["prompt_tokens"] == 200


def test_a_no_goes_to_the_model(dialogue, bell):
    rung, _ = bell
    with served({"tool_calls": [call()]}, "I did not ring.") as host:
        answer = aside(begin(dialogue))
        decide(dialogue, "deny")
        assert ended(answer).content == "I did not ring."
    assert not rung and "The person said no" in host.requests[1].text


def test_a_question_that_runs_out_ends_the_waiting(dialogue, bell):
    rung, _ = bell
    with served({"tool_calls": [call()]}, "Nobody answered.") as host:
        answer = aside(begin(dialogue))
        past = timezone.now() - timedelta(seconds=1)
        Approval.objects.update(expires_at=past)
        Message.objects.filter(pk=answer.pk).update(due_at=past)
        assert ended(answer).content == "Nobody answered."
    assert not rung and only().status == "expired" and "Nobody answered in time" in host.requests[1].text


def test_asked_for_in_the_text_it_is_the_same(dialogue, bell):
    rung, _ = bell
    ask = 'May I? {"actions": [{"type": "bell_ring", "payload": {"times": 3}}]}'
    refusal = {"status": 400, "content": "no tools here"}
    with ScriptedHost([refusal, ask, "It rang."]) as host, host.installed():
        with listening():
            answer = aside(begin(dialogue))
        decide(dialogue)
        with listening():
            ended(answer)
    assert rung[0].times == 3 and answer.content == "It rang." and answer.metadata["n_calls"] == 3
    assert "tools" not in host.requests[2].json and "The bell rang (1)." in host.requests[2].text
    assert ask.partition("{")[0].strip() in host.requests[2].text


def test_two_questions_of_one_turn_are_two(dialogue, bell):
    rung, _ = bell
    with served({"tool_calls": [call()]}, {"tool_calls": [call(arguments={"times": 2})]}, "Twice."):
        answer = aside(begin(dialogue))
        decide(dialogue)
        until(lambda: Approval.objects.filter(status="pending").exists())
        aside(answer)
        approvals.decide(
            Approval.objects.get(status="pending").pk, "allow_once", by=caller(dialogue.person), door="rest"
        )
        assert ended(answer).content == "Twice."
    assert [p.times for p in rung] == [1, 2]


def test_calls_with_long_names_that_differ_at_the_end_are_two_questions(dialogue, bell):
    rung, _ = bell
    calls = [{**call(arguments={"times": n}), "id": "c" * 99 + str(n)} for n in (1, 2)]
    with served({"tool_calls": calls}, "Twice."):
        answer = begin(dialogue)
        for _ in calls:
            question = until(lambda: Approval.objects.filter(status="pending").first())
            approvals.decide(question.pk, "allow_once", by=caller(dialogue.person), door="rest")
        assert ended(answer).content == "Twice."
    assert [p.times for p in rung] == [1, 2]


def test_while_a_question_is_open_nothing_else_is_said(dialogue, bell):
    with served({"tool_calls": [call()]}):
        answer = aside(begin(dialogue))
        with pytest.raises(Conflict) as caught:
            begin(dialogue, "Hurry up.")
        assert caught.value.code == "approval_open" and caught.value.details["message_id"] == answer.pk
        assert caught.value.details["approval_id"] == str(only().pk)


def test_a_stop_takes_the_question_back(dialogue, bell):
    rung, _ = bell
    with served(ASKS, "Never."):
        answer = aside(begin(dialogue))
        turns.request_stop(answer.pk, "stopped", by=dialogue.person)
        ended(answer)
        with pytest.raises(Conflict) as caught:
            decide(dialogue)
    assert (answer.status, only().status, caught.value.code) == ("cancelled", "withdrawn", "turn_ended")
    assert not rung and answer.metadata["tool_nodes"] and told(answer)[-1].name == "message.end"
    assert told(answer)[-1].data["actions"][0]["action"] == "light_on"


def test_a_word_that_comes_before_the_turn_is_laid_aside_is_not_lost(dialogue, bell, monkeypatch):
    rung, _ = bell
    decided = threading.Event()

    def at_once(event, **_):
        if event == "approval" and not decided.is_set():
            decided.set()
            decide(dialogue)

    from synth.chat import publishing

    tell = publishing.Publisher.tell
    monkeypatch.setattr(
        publishing.Publisher,
        "tell",
        lambda self, event, **data: (tell(self, event, **data), at_once(event))[0],
    )
    with served({"tool_calls": [call()]}, "It rang."):
        assert ended(begin(dialogue)).content == "It rang."
    assert len(rung) == 1


def test_who_waits_for_the_whole_answer_gets_it_unfinished(dialogue, bell):
    with ScriptedHost([{"tool_calls": [call()]}]) as host, host.installed():
        answer = turns.take(dialogue, dialogue.person, "Ring.")
    assert (answer.status, answer.lease_until) == ("streaming", None)


def test_what_openers_found_is_still_known(dialogue, bell, opener):
    seen: list[object] = []
    rung, light = bell
    opener(
        "test.notes", lambda turn: turn.notes.update({"test.word": "yes", "test.odd": object()}) or "Noted."
    )

    def note(turn, payload):
        seen.append(turn.notes)
        return type(rung).__call__(light, turn, payload)

    from synth import actions

    real = actions.named("light_on")
    object.__setattr__(real, "handler", note)
    with ScriptedHost([{"tool_calls": [call(), call("light_on")]}, "Done."]) as host, host.installed():
        with listening():
            answer = aside(begin(dialogue))
        decide(dialogue)
        with listening():
            ended(answer)
    assert seen == [{"test.word": "yes"}] and "Noted." in host.requests[1].text


DIES = """
import django
django.setup()
import sys
from synth import actions
from synth.actions import Action, Outcome
from synth.models import Message
from synth.rowqueue import leases
from synth.services import people, turn_run
from django.utils.timezone import now

def ring(turn, arguments):
    people.update(turn.person, {"last_name": turn.person.last_name + "x"}, by=turn.person, door="chat")
    return Outcome("The bell rang.")

actions.register(Action("bell_ring", "Rings.", ring, risk="needs_approval"))
for row in leases.claim(Message.objects.filter(status="streaming", lease_until__isnull=True), at=now()):
    turn_run.run(row)
"""


def run_and_die(host, point):
    environment = {
        **os.environ, "DATABASE_URL": database(), "LLM_BASE_URL": host.base_url,
        "DJANGO_SETTINGS_MODULE": "synth.settings", **({"SYNTH_FAULT": point} if point else {}),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DIES], env=environment, cwd=django_settings.BASE_DIR,
        timeout=120, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == (-signal.SIGKILL if point else 0), done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["turns.aside.before", "turns.aside.after"])
def test_killed_while_it_is_laid_aside_it_ends_or_goes_on(dialogue, bell, point):
    with ScriptedHost([{"tool_calls": [call()]}, "It rang."]) as host:
        answer = begin(dialogue)
        run_and_die(host, point)
        answer.refresh_from_db()
        if point == "turns.aside.before":
            assert answer.lease_until is not None and only().status == "pending"
            Message.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            dialogues.settle_crashed(timezone.now())
            assert only().status == "withdrawn"
        else:
            decide(dialogue)
            run_and_die(host, "")
        ended(answer)
    dialogue.person.refresh_from_db()
    is_aside = point == "turns.aside.after"
    assert answer.status == ("complete" if is_aside else "failed")
    assert dialogue.person.last_name == ("x" if is_aside else "")


@pytest.mark.slow
@pytest.mark.parametrize("point", ["turns.action.before", "turns.result.before", "turns.finish.before"])
def test_killed_after_the_word_nothing_is_done_twice(dialogue, bell, point):
    with ScriptedHost([{"tool_calls": [call()]}, "It rang.", "Hello."]) as host:
        answer = begin(dialogue)
        run_and_die(host, "")
        decide(dialogue)
        run_and_die(host, point)
        run_and_die(host, "")
        Message.objects.filter(status="streaming").update(lease_until=timezone.now() - timedelta(seconds=1))
        dialogues.settle_crashed(timezone.now())
        ended(answer)
    dialogue.person.refresh_from_db()
    assert (answer.status, answer.metadata["reason"]) == ("failed", "crashed")
    assert dialogue.person.last_name == ("" if point == "turns.action.before" else "x")
    with ScriptedHost(["Here I am."]) as host, host.installed():
        turns.take(dialogue, dialogue.person, "Did you?")
    is_known = point == "turns.finish.before"
    assert ("The bell rang." in host.requests[0].text) is is_known
    assert ("Nothing is known of what became of this" in host.requests[0].text) is not is_known


@pytest.mark.parametrize("lost", ["agent_archived", "agent_closed", "person_archived"])
def test_who_may_not_talk_to_the_agent_any_more_causes_nothing(dialogue, trainer, bell, lost):
    rung, _ = bell
    with served({"content": "May I?", "tool_calls": [call()]}, "No, then."):
        answer = aside(begin(dialogue))
        if lost == "agent_archived":
            agents.archive(dialogue.agent, by=None, door="rest")
        elif lost == "agent_closed":
            agents.update(dialogue.agent, {"people": [trainer]}, by=None, door="rest")
        else:
            Person.objects.filter(pk=dialogue.person_id).update(archived_at=timezone.now())
        decide(dialogue)
        ended(answer)
    assert not rung and "may not" in tree(dialogue)[2][2]


def test_a_number_that_no_column_holds_beside_a_question_is_put_right(dialogue, bell):
    rung, light = bell
    texts = [("a", "bell_ring", "{}"), ("b", "light_on", '{"times": 1e999}')]
    functions = [{"id": i, "function": {"name": name, "arguments": text}} for i, name, text in texts]
    asks = {"content": "May I?", "message": {"tool_calls": functions}}
    with served(asks, "It rang."):
        answer = aside(begin(dialogue))
        decide(dialogue)
        ended(answer)
    assert (answer.status, len(rung), light) == ("complete", 1, [])
    assert "does not fit" in tree(dialogue)[3][2]
