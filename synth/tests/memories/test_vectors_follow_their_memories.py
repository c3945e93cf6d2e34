"""Each memory gets a vector in the background, made anew when its words or the model change, gone with it."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from synth.inference import queue
from synth.inference.wire import Problem
from synth.models import Agent, Memory, MemoryVector, Person
from synth.recall import near
from synth.rowqueue.deadline import Deadline
from synth.services import meanings, memories, memory_vectors
from synth.services.erase import erase_agent, erase_person
from synth.tests.memories import scripted_reader
from synth.tests.memories.scripted_reader import MODEL, answer, means, reading

reader = scripted_reader.reader
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(db):
    return Agent.objects.create(slug="wren", name="Wren")


def sweep(seconds: float = 30) -> int:
    return memory_vectors.sweep(Deadline(seconds))


def models_of() -> dict[int, str]:
    return dict(MemoryVector.objects.values_list("memory_id", "model"))


def test_a_sweep_reads_what_is_missing_once(agent, reader):
    rows = [memories.write(agent, text=f"the heron of day {n}") for n in range(20)]
    assert sweep() == 20 and models_of() == {row.pk: MODEL for row in rows}
    assert sorted(reader.texts("passage")) == sorted(row.text for row in rows)
    assert max(len(texts) for _, texts in reader.asked) <= memory_vectors.BATCH
    n_asked = len(reader.asked)
    assert sweep() == 0 and len(reader.asked) == n_asked


def test_the_newest_are_read_first_and_the_rest_at_the_next_sweep(agent, reader):
    rows = [memories.write(agent, text=f"day {n} " + "x" * 900) for n in range(3)]
    assert sweep(seconds=0) == 1 and models_of() == {rows[2].pk: MODEL}
    assert sweep() == 2


def test_a_memory_is_read_with_its_name_and_tags_and_only_its_beginning(agent, reader):
    person = Person.objects.create(username="pia")
    memories.write(agent, text="what he eats", name="heron", tags=["birds", "grey"])
    memories.write(agent, text="hers", name="heron", about=person)
    memories.write(agent, text="long " * 5000)
    sweep()
    texts = reader.texts("passage")
    assert "heron: what he eats (birds, grey)" in texts and "heron: hers" in texts
    assert max(map(len, texts)) == near.PASSAGE_CHARS


def test_a_changed_memory_loses_its_vector_and_gets_a_new_one(agent, reader):
    row = memories.write(agent, text="a heron")
    sweep()
    memories.update(row, text="a cup of tea")
    assert models_of() == {}
    assert sweep() == 1
    assert MemoryVector.objects.get().vector == means("a cup of tea").packed


def test_a_memory_that_changes_while_it_is_read_gets_no_vector_of_its_old_words(agent):
    row = memories.write(agent, text="a heron")

    def slow(texts):
        if texts == ["a heron"]:
            memories.update(Memory.objects.get(pk=row.pk), text="a cup of tea")
            connection.close()
        return answer(texts)

    with reading(slow):
        assert sweep() == 0 and models_of() == {}
        assert sweep() == 1
    assert MemoryVector.objects.get().vector == means("a cup of tea").packed


def test_a_vector_is_not_saved_beside_a_change_that_is_not_committed_yet(agent):
    row = memories.write(agent, text="a heron")
    (unread,) = near.missing(2**62, 10)
    saved: list[bool] = []

    def save() -> None:
        saved.append(near.save(unread, means("a heron")))
        connection.close()

    with transaction.atomic():
        memories.update(row, text="a cup of tea")
        thread = threading.Thread(target=save)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive() and saved == []
    thread.join(20)
    assert saved == [False] and models_of() == {}


def test_a_vector_saved_while_its_memory_is_deleted_stands_in_nobodys_way(agent):
    row = memories.write(agent, text="a heron")
    (unread,) = near.missing(2**62, 10)
    deleted: list[int] = []

    def delete() -> None:
        deleted.append(memories.delete_many(Memory.objects.filter(pk=row.pk)))
        connection.close()

    with transaction.atomic():
        assert near.save(unread, means("a heron"))
        thread = threading.Thread(target=delete)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(20)
    assert deleted == [1] and models_of() == {}
    assert not near.save(unread, means("a heron"))


def test_another_model_makes_all_of_them_anew(agent):
    rows = [memories.write(agent, text=f"heron {n}") for n in range(5)]
    with reading():
        sweep()
    with reading(lambda texts: answer(texts, "other/1")):
        assert sweep() == 0 and set(models_of().values()) == {MODEL}, "nobody knows yet"
        found = meanings.of("a heron", 5)
        assert found is not None and found.model == "other/1"
        assert sweep() == 5 and models_of() == {row.pk: "other/1" for row in rows}


def test_what_the_worker_cannot_read_is_passed_over(agent):
    rows = [memories.write(agent, text=text) for text in ("heron", "poison", "tea", "boat")]

    def script(texts):
        return Problem("failed", "no") if "poison" in texts else answer(texts)

    with reading(script):
        assert sweep() == 3
    assert set(models_of()) == {row.pk for row in rows} - {rows[1].pk}


@pytest.mark.parametrize(
    "script", [lambda texts: {}, lambda texts: answer(texts[:-1]), lambda texts: {"echo": texts}]
)
def test_a_worker_that_answers_nonsense_makes_no_vectors(agent, script):
    memories.write(agent, text="a heron")
    with reading(script):
        assert sweep() == 0 and models_of() == {}


def test_no_connection_is_held_while_the_worker_reads(agent):
    memories.write(agent, text="a heron")
    mine = connections["default"]  # of this thread, looked at from the worker's
    held = []

    def look(texts):
        held.append(mine.connection)
        return answer(texts)

    with reading(look):
        assert sweep() == 1 and held == [None]


def test_nothing_is_asked_without_a_worker_or_when_it_is_off(agent, settings):
    memories.write(agent, text="a heron")
    scripted_reader.forget()
    assert sweep() == 0
    with reading() as reader:
        settings.RECALL_MEANING = False
        assert sweep() == 0 and reader.asked == []


def test_vectors_wait_while_others_ask(agent):
    """NICE asks end with the tick; nothing is lost."""
    memories.write(agent, text="a heron")
    queue.client().set("synth:infer:alive", "someone", ex=30)
    assert sweep_with_ask_s(0.3) == 0
    scripted_reader.forget()
    with reading():
        assert sweep() == 1


def sweep_with_ask_s(seconds: float) -> int:
    before, memory_vectors.ASK_S = memory_vectors.ASK_S, seconds
    try:
        return sweep()
    finally:
        memory_vectors.ASK_S = before


def test_they_go_with_the_memory_the_person_and_the_agent(agent, reader):
    pia = Person.objects.create(username="pia")
    other = Agent.objects.create(slug="crow", name="Crow")
    mine = memories.write(agent, text="a heron")
    hers = memories.write(agent, text="her heron", about=pia)
    theirs = memories.write(other, text="a heron of the other")
    sweep()
    assert set(models_of()) == {mine.pk, hers.pk, theirs.pk}
    receipt = erase_person("pia", at=timezone.now())
    assert receipt.counts["core"]["synth.Memory"] == 1 and set(models_of()) == {mine.pk, theirs.pk}
    memories.delete(theirs)
    assert set(models_of()) == {mine.pk}
    erase_agent("wren", at=timezone.now())
    assert models_of() == {}


def test_an_operator_sees_how_many_there_are(agent, reader):
    for n in range(3):
        memories.write(agent, text=f"heron {n}")
    assert memory_vectors.counts(agent) == {"": 3}
    sweep()
    memories.write(agent, text="tea")
    assert memory_vectors.counts(agent) == {"": 1, MODEL: 3}
