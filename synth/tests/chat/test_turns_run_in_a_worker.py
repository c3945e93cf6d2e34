"""A turn begun in one process runs in another, tells what happens, and ends exactly once."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from synth import liveness
from synth.chat import events
from synth.chat.listener import Listener
from synth.errors import Conflict, TooMany, Unavailable
from synth.models import Approval, Message, TurnState
from synth.services import dialogues, erase, people, turn_live, turns
from synth.testing.scripted_host import ScriptedHost
from synth.testing.whole_database import grep
from synth.tests.chat.conftest import call, tree
from synth.tests.chat.running import ended, names, served, told, until, words
from synth.tests.chat.test_one_answer_at_a_time import database

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "one two three four five six seven eight nine ten " * 3
SLOW = {"content": TEXT, "token_s": 0.1}


def begin(dialogue, content="Hello?", **values):
    return turns.begin(dialogue, dialogue.person, content, **values).answer


def test_the_words_are_told_as_they_come_and_saved_in_the_end(dialogue):
    with served({"content": "<think>Hm.</think>Hello, Pia. ", "token_s": 0.05}):
        answer = ended(begin(dialogue))
    assert (answer.status, answer.content) == ("complete", "Hello, Pia.")
    assert words(answer) == "Hello, Pia." and names(answer) == ["message.start", "delta", "message.end"]
    start, *_, end = told(answer)
    assert start.data["dialogue"] == str(dialogue.pk) and start.data["agent"] == "wren"
    assert (start.data["parent"], start.data["role"]) == (answer.parent_id, "assistant")
    assert end.data["message"]["content"] == "Hello, Pia." and end.data["finish_reason"] == "stop"
    assert end.data["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    assert tree(dialogue)[-1] == ("assistant", "complete", "Hello, Pia.")


def test_actions_are_told_and_the_words_of_each_round_are_apart(dialogue, add):
    rung = add()
    with served({"content": "Let me ring.", "tool_calls": [call(), call("bell_melt")]}, "It rang."):
        answer = ended(begin(dialogue))
    assert len(rung) == 1 and words(answer) == answer.content == "It rang."
    assert names(answer) == [
        "message.start", "delta", "action", "action", "action", "action", "delta", "message.end",
    ]  # fmt: skip
    acts = [event.data for event in told(answer) if event.name == "action"]
    assert [(a["action"], a["status"], a["is_ok"], a["code"]) for a in acts] == [
        ("bell_ring", "running", None, ""), ("bell_ring", "done", True, ""),
        ("bell_melt", "running", None, ""), ("bell_melt", "refused", False, "unknown_action"),
    ]  # fmt: skip
    assert acts[1]["id"] == answer.metadata["tool_nodes"][0] and acts[1]["text"] == "The bell rang (1)."
    assert [action["text"] for action in told(answer)[-1].data["actions"]] == [a["text"] for a in acts[1::2]]


def test_actions_asked_for_in_the_text_are_never_shown(dialogue, add):
    add()
    ask = 'I ring.\n```json\n{"actions": [{"type": "bell_ring", "payload": {}}]}\n```'
    with served({"content": ask, "stream": {"pieces": list(ask)}}, "It rang."):
        answer = ended(begin(dialogue))
    said = [event.data["text"] for event in told(answer) if event.name == "delta"]
    assert "".join(said) == "I ring.It rang." and answer.content == "It rang."


def test_what_came_so_far_stands_in_the_row_with_the_number_of_its_event(dialogue):
    with served(SLOW):
        answer = begin(dialogue)
        row = until(lambda: Message.objects.filter(pk=answer.pk).exclude(content="").first())
        n = row.metadata["n_events"]
        before = "".join(e.data["text"] for e in told(answer) if e.name == "delta" and e.n <= n)
        assert row.status == "streaming" and row.content == before
        assert TEXT.startswith(row.content)
        assert ended(answer).content == TEXT.strip() == words(answer)


def test_a_ring_that_was_lost_costs_little(dialogue):
    with served("Hello."):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REDIS_URL", "")
            answer = begin(dialogue)
            liveness.client().delete(events.RING)
        assert ended(answer).content == "Hello."


def test_a_row_without_any_ring_is_found(dialogue, settings):
    url = settings.REDIS_URL
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = begin(dialogue)
    settings.REDIS_URL = url
    assert liveness.client().llen(events.RING) == 0
    with served("Hello."):
        assert ended(answer).content == "Hello."


def test_no_turn_begins_after_the_end_was_waited_for(dialogue):
    answer = begin(dialogue)
    with psycopg.connect(database()) as other, ScriptedHost(["Hello."]) as host:
        other.execute("LOCK TABLE synth_message IN ACCESS EXCLUSIVE MODE")
        with host.installed():
            listener = Listener(look_s=0.5)
            listener.start()
            time.sleep(0.5)  # at its look or its claim, which waits for the lock
            listener.close()
            waited = threading.Thread(target=listener.wait)
            waited.start()
            waited.join(1)
            other.rollback()
            waited.join(30)
            n_calls = len(host.requests)
            time.sleep(1)
            assert len(host.requests) == n_calls and turn_live.all_live() == []
    answer.refresh_from_db()
    assert answer.status == ("complete" if n_calls else "streaming")


def test_trouble_with_the_host_is_told_and_what_had_come_is_kept(dialogue):
    with served({"content": "one two three four", "stream": {"reset_after": 3}}):
        answer = ended(begin(dialogue))
    assert (answer.status, answer.content) == ("failed", "one two")
    assert (answer.metadata["reason"], answer.metadata["retry_after_s"]) == ("llm_unreachable", 30)
    last = told(answer)[-1]
    assert (last.name, last.data["code"], last.data["retry_after_s"]) == ("error", "llm_unreachable", 30)
    assert last.data["message_id"] == answer.pk and last.data["message"]
    with served("Again."):
        assert ended(begin(dialogue, "And now?")).status == "complete"


def test_our_own_trouble_is_told_without_its_text(dialogue, add):
    rung = add()
    rung.outcome = None
    with served({"content": "x", "tool_calls": [call()]}) as host:
        host.add({"status": 200, "raw": "<html>secret</html>"})
        answer = ended(begin(dialogue))
    assert (answer.status, answer.metadata["reason"]) == ("failed", "llm_refused")
    assert "secret" not in told(answer)[-1].text


def test_of_two_begun_at_once_one_is_told_who_is_first(dialogue):
    ends: list[str] = []
    gate = threading.Barrier(4)

    def say() -> None:
        try:
            gate.wait(10)
            ends.append(begin(dialogue).status)
        except Conflict as error:
            ends.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=say) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends) == ["streaming", *["turn_running"] * 3]
    assert Message.objects.count() == 2 and TurnState.objects.count() == 1


def test_the_same_key_gives_the_same_answer_also_while_it_is_written(dialogue):
    first = turns.begin(dialogue, dialogue.person, "Hi", key="k")
    again = turns.begin(dialogue, dialogue.person, "Hi", key="k")
    assert (again.answer.pk, again.said.pk, again.is_replayed) == (first.answer.pk, first.said.pk, True)
    with served("Hello."):
        ended(first.answer)
    assert turns.begin(dialogue, dialogue.person, "Hi", key="k").answer.content == "Hello."
    assert Message.objects.count() == 2


def test_an_answer_anew_is_a_sibling_and_openers_look_once(dialogue, opener):
    seen: list[str] = []

    def greet(turn):
        seen.append(turn.message.content)
        return "They greet."

    opener("test.seen", greet)
    with served("Uno.", "Eins.") as host:
        first = ended(begin(dialogue, "One."))
        assert first.parent is not None
        again = ended(turns.begin_retake(dialogue, dialogue.person, first.parent).answer)
    assert again.parent_id == first.parent_id and tree(dialogue)[-1][2] == "Eins."
    assert seen == ["One."]
    assert "They greet." in host.requests[0].text and "They greet." not in host.requests[1].text


def test_no_more_turns_run_at_once_than_there_are_slots(agent):
    busy, most = [], []

    def reply(_request):
        busy.append(1)
        most.append(len(busy))
        time.sleep(0.3)
        busy.pop()
        return "Hello."

    rows = [dialogues.create(agent, people.ensure(f"p{n}")) for n in range(5)]
    with served(*[reply] * 5, slots=2):
        answers = [begin(row) for row in rows]
        for answer in answers:
            assert ended_quietly(answer).status == "complete"
    assert max(most) == 2


def ended_quietly(answer):
    until(lambda: told(answer) and told(answer)[-1].is_terminal)
    answer.refresh_from_db()
    return answer


def test_a_person_and_the_server_have_their_fill(agent, person, monkeypatch):
    monkeypatch.setenv("CHAT_PER_PERSON", "2")
    rows = [dialogues.create(agent, person) for _ in range(3)]
    begin(rows[0])
    begin(rows[1])
    with pytest.raises(TooMany) as caught:
        begin(rows[2])
    assert (caught.value.code, caught.value.status) == ("too_many_turns", 429)
    assert caught.value.retry_after_s > 0
    monkeypatch.setenv("CHAT_QUEUE", "2")
    other = dialogues.create(agent, people.ensure("ada"))
    with pytest.raises(Unavailable) as full:
        begin(other)
    assert (full.value.code, full.value.status) == ("chat_full", 503)
    assert Message.objects.count() == 4 and not Message.objects.filter(dialogue__in=[rows[2], other]).exists()


def test_what_waits_for_a_persons_word_is_not_being_written(agent, person, monkeypatch):
    monkeypatch.setenv("CHAT_PER_PERSON", "1")
    first, second = (dialogues.create(agent, person) for _ in range(2))
    answer = begin(first)
    Approval.objects.create(
        agent=agent, person=person, dialogue=first, answer=answer, call_id="1", action="memory_forget",
        expires_at=timezone.now() + timedelta(minutes=30),
    )  # fmt: skip
    begin(second)
    with pytest.raises(TooMany):
        begin(dialogues.create(agent, person))


def test_a_turn_whose_person_is_erased_ends_and_leaves_nothing(dialogue):
    with served({**SLOW, "token_s": 0.3}):
        answer = begin(dialogue, "My secret is zanzibar.")
        until(lambda: Message.objects.filter(pk=answer.pk).exclude(content="").exists())
        erase.erase_person(dialogue.person.username, at=timezone.now())
        until(lambda: turn_live.all_live() == [])
    assert not Message.objects.exists() and not TurnState.objects.exists()
    assert grep("zanzibar") == grep("three four") == []
