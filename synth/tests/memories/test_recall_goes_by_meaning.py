"""What says the same in other words is found, nobody else's memories are; without an answer words decide."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connections, transaction

from synth.inference import queue, wire
from synth.inference.wire import Problem
from synth.models import Agent, MemoryVector, Person
from synth.prompts import assemble
from synth.recall.meaning import Meaning
from synth.rowqueue.deadline import Deadline
from synth.services import dialogues, keys, meanings, memories, memory_vectors, turns
from synth.tests.chat.running import ended, served
from synth.tests.memories import scripted_reader
from synth.tests.memories.scripted_reader import answer, forget, means, reading, vector

reader = scripted_reader.reader
pytestmark = pytest.mark.django_db(transaction=True)
PATIENT_S = 10.0  # the tests' machine may be slow


@pytest.fixture
def agent(db):
    return Agent.objects.create(slug="wren", name="Wren")


@pytest.fixture
def nobody_serves():
    forget()
    yield
    forget()


def found(agent, query, about=None, meaning=None, limit=10):
    scored = memories.recall(agent, query, about=about, limit=limit, meaning=meaning or means(query))
    return [one.memory.text for one in scored]


def sweep() -> None:
    memory_vectors.sweep(Deadline(30))


def test_a_memory_in_another_language_is_found_though_it_shares_no_word(agent, reader):
    for text in ("Der Reiher steht am Ufer", "Tee mit Milch", "лодка у причала"):
        memories.write(agent, text=text)
    assert found(agent, "where is the heron?") == []
    sweep()
    assert found(agent, "where is the heron?") == ["Der Reiher steht am Ufer"]
    assert memories.recall(agent, "where is the heron?", about=None, limit=10) == []


def test_of_two_with_the_same_words_the_one_that_means_it_is_first(agent, reader):
    memories.write(agent, text="the stand by the river sells hot leaves")
    memories.write(agent, text="the stand by the river sells papers")
    sweep()
    query = "tea at the stand by the river"
    by_words = [one.memory.text for one in memories.recall(agent, query, about=None, limit=2)]
    assert by_words[0].endswith("papers")
    assert found(agent, query)[0].endswith("hot leaves")


def test_a_rare_word_stays_before_what_only_means_the_same(agent, reader):
    memories.write(agent, text="quixotic")
    for n in range(5):
        memories.write(agent, text=f"a grey fisher, number {n}")
    sweep()
    assert found(agent, "quixotic", meaning=means("heron"))[0] == "quixotic"


def test_many_memories_that_mean_it_come_in_and_the_limit_holds(agent, reader):
    for n in range(60):
        memories.write(agent, text=f"a grey fisher, number {n}")
    sweep()
    assert len(found(agent, "Reiher", limit=100)) == 48
    assert len(found(agent, "Reiher", limit=3)) == 3 and found(agent, "Reiher", limit=0) == []


def test_nobody_elses_memories_are_found_or_move_anything(agent, reader):
    other = Agent.objects.create(slug="crow", name="Crow")
    pia, jay = Person.objects.create(username="pia"), Person.objects.create(username="jay")
    for owner, about, text in (
        (agent, None, "a grey fisher"),
        (agent, pia, "pia saw a grey fisher"),
        (agent, jay, "jay saw a grey fisher"),
        (other, None, "the other's grey fisher"),
        (other, pia, "pia told the other of a grey fisher"),
    ):
        memories.write(owner, text=text, about=about)
    sweep()
    assert MemoryVector.objects.count() == 5
    assert set(found(agent, "heron")) == {"a grey fisher"}
    assert set(found(agent, "heron", about=pia)) == {"a grey fisher", "pia saw a grey fisher"}
    assert set(found(agent, "heron", about=jay)) == {"a grey fisher", "jay saw a grey fisher"}
    assert set(found(other, "heron", about=jay)) == {"the other's grey fisher"}


def test_a_vector_that_stands_under_a_wrong_person_shows_no_memory(agent, reader):
    pia, jay = Person.objects.create(username="pia"), Person.objects.create(username="jay")
    memories.write(agent, text="jay saw a grey fisher", about=jay)
    sweep()
    MemoryVector.objects.update(about_id=pia.pk)
    assert found(agent, "heron", about=pia) == []


def test_a_memory_that_changes_its_person_changes_sides(agent, reader):
    pia, jay = Person.objects.create(username="pia"), Person.objects.create(username="jay")
    row = memories.write(agent, text="a grey fisher", about=pia)
    sweep()
    memories.update(row, about=jay)
    assert found(agent, "heron", about=pia) == [] == found(agent, "heron", about=jay)
    sweep()
    assert found(agent, "heron", about=pia) == [] and found(agent, "heron", about=jay) == ["a grey fisher"]


def test_vectors_of_another_model_are_not_compared(agent, reader):
    memories.write(agent, text="a grey fisher")
    sweep()
    assert found(agent, "heron", meaning=Meaning("other/1", vector("heron"))) == []


def test_a_question_is_asked_once_and_answered(reader):
    meanings.begin("where is the heron?")
    assert meanings.of("where is the heron?", PATIENT_S) == means("where is the heron?")
    assert reader.texts("query") == ["where is the heron?"]
    assert meanings.of("another question", PATIENT_S) == means("another question")
    assert meanings.of("   ", PATIENT_S) is None and len(reader.asked) == 2


def test_only_the_beginning_of_what_was_said_is_read(reader):
    assert meanings.of("heron " * 1000, PATIENT_S) is not None
    assert max(map(len, reader.texts("query"))) <= meanings.QUESTION_CHARS


BAD = {
    "wrong length": lambda texts: {"model": "words/1", "vectors": ["AAAA"]},
    "no vectors": lambda texts: {"model": "words/1"},
    "another shape": lambda texts: {"echo": texts},
    "a refusal": lambda texts: Problem("refused", "no"),
    "not a number": lambda texts: {**answer(texts), "vectors": ["/n7+fv5+" * 128]},
}


@pytest.mark.parametrize("name", BAD)
def test_a_worker_that_answers_nonsense_leaves_the_order_of_words(agent, name):
    memories.write(agent, text="a heron by the river")
    with reading(BAD[name]) as found_reader:
        assert meanings.of("heron", PATIENT_S) is None
        assert found_reader.texts("query") == ["heron"]
        assert meanings.of("heron again", PATIENT_S) is None
        assert found_reader.texts("query") == ["heron"], "left alone for a while"


def test_a_late_answer_is_not_waited_for_and_the_worker_is_left_alone(db):
    def slow(texts):
        time.sleep(1)
        return answer(texts)

    with reading(slow) as found_reader:
        assert meanings.of("heron", 0.05) is None
        assert meanings.of("tea", 5) is None
        meanings._quiet_until = 0.0
        assert meanings.of("boat", PATIENT_S) == means("boat")
        assert "tea" not in found_reader.texts("query")


def test_without_a_worker_nothing_is_queued_or_waited_for(nobody_serves):
    assert meanings.of("heron", 60) is None
    assert queue.client().llen(wire.queue_key("IMPORTANT")) == 0
    with reading():
        assert meanings.of("heron", PATIENT_S) == means("heron"), "the next one finds a worker at once"


def test_when_it_is_off_nothing_is_asked(reader, settings):
    settings.RECALL_MEANING = False
    meanings.begin("heron")
    assert meanings.of("heron", PATIENT_S) is None and reader.asked == []


def test_redis_away_costs_no_exception(nobody_serves, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    meanings.begin("heron")
    assert meanings.of("heron") is None


def test_no_connection_is_held_while_it_waits_and_none_waits_in_a_transaction(agent):
    held: list[Any] = []

    def look(texts):
        until = time.monotonic() + PATIENT_S / 2  # the ask is there a moment before its asker waits
        while mine.connection is not None and time.monotonic() < until:
            time.sleep(0.001)
        held.append(mine.connection)
        return answer(texts)

    mine = connections["default"]  # of this thread, looked at from the worker's
    with reading(look) as found_reader:
        assert Agent.objects.exists() and mine.connection is not None
        assert meanings.of("heron", PATIENT_S) is not None
        assert held == [None]
        with transaction.atomic():
            assert Agent.objects.exists()
            assert meanings.of("tea", 60) is None
        assert found_reader.texts("query") == ["heron"]


def test_a_turn_shows_what_means_the_same_as_what_was_said(agent, reader, monkeypatch):
    monkeypatch.setattr(meanings, "WAIT_S", PATIENT_S)
    pia = Person.objects.create(username="pia")
    memories.write(agent, text="Der Reiher steht am Ufer")
    sweep()
    dialogue = dialogues.create(agent, pia)
    with served("By the shore.") as host:
        ended(turns.begin(dialogue, pia, "where is the heron?").answer)
        prompt = host.requests[0].json["messages"][0]["content"]
    assert "Der Reiher steht am Ufer" in prompt
    assert reader.texts("query") == ["where is the heron?"]


def test_a_turn_goes_on_by_words_when_the_worker_is_silent(agent, nobody_serves):
    pia = Person.objects.create(username="pia")
    memories.write(agent, text="Der Reiher steht am Ufer")
    memories.write(agent, text="a heron by the river")
    dialogue = dialogues.create(agent, pia)
    queue.client().set(wire.ALIVE_KEY, "someone", ex=30)
    with served("By the shore.") as host:
        ended(turns.begin(dialogue, pia, "where is the heron?").answer)
        prompt = host.requests[0].json["messages"][0]["content"]
    assert "a heron by the river" in prompt and "Reiher" not in prompt


def test_the_prompt_page_and_the_search_ask_for_themselves(agent, reader, client, monkeypatch):
    monkeypatch.setattr(meanings, "WAIT_S", PATIENT_S)
    tara = Person.objects.create(username="tara")
    agent.trainers.add(tara)
    memories.write(agent, text="Der Reiher steht am Ufer")
    sweep()
    key = keys.issue(tara, role="trainer").plain
    answered = client.get(
        "/api/agents/wren/memories/", {"q": "the heron"}, headers={"Authorization": f"Bearer {key}"}
    )
    assert answered.status_code == 200, answered.content
    (one,) = answered.json()["results"]
    assert one["text"] == "Der Reiher steht am Ufer" and 0.2 <= one["score"] <= 1
    assert assemble(agent, "chat").text
