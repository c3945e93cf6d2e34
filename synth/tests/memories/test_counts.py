"""The word counts are what counting the memories anew would give, whatever happened."""

import threading
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.models import Agent, Memory, MemoryTerm, Person
from synth.recall import index
from synth.services import memories

WORDS = ["tea", "kyoto", "京都の桜", "ร้านชา", "지민이랑", "the", "Ana"]


def counts(agent):
    return dict(MemoryTerm.objects.filter(agent=agent).values_list("term", "n_memories"))


def counted_anew(agent):
    before = counts(agent)
    index.recount(agent.pk)
    after = counts(agent)
    assert before == after
    return after


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "update", "delete", "move"]),
        st.integers(0, 5),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
        st.booleans(),
    ),
    max_size=12,
)


@pytest.mark.django_db
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_order_of_changes_leaves_right_counts(steps):
    agent, _ = Agent.objects.get_or_create(slug="wren", defaults={"name": "Wren"})
    person, _ = Person.objects.get_or_create(username="mina")
    memories.delete_many(Memory.objects.filter(agent=agent))
    for what, which, words, personal in steps:
        rows = list(Memory.objects.filter(agent=agent).order_by("id"))
        text, about = " ".join(words), person if personal else None
        if what == "write" or not rows:
            memories.write(agent, text=text, tags=words[:1], about=about)
        elif what == "update":
            memories.update(rows[which % len(rows)], text=text)
        elif what == "move":
            memories.update(rows[which % len(rows)], about=about)
        else:
            memories.delete(rows[which % len(rows)])
    counted_anew(agent)


@pytest.mark.django_db
def test_nothing_is_left_when_every_memory_is_deleted():
    agent, person = Agent.objects.create(slug="a", name="A"), Person.objects.create(username="p")
    memories.write(agent, text="tea in Kyoto", about=person)
    memories.write(agent, text="tea")
    assert counts(agent)["tea"] == 2
    assert memories.delete_about(person) == 1
    memories.delete_many(Memory.objects.filter(agent=agent))
    assert counts(agent) == {}


@pytest.mark.django_db
def test_reindex_repairs_words_and_counts():
    agent = Agent.objects.create(slug="wren", name="Wren")
    memories.write(agent, text="a heron at the pond", tags=["bird"])
    MemoryTerm.objects.filter(agent=agent).delete()
    Memory.objects.update(search=None)
    assert memories.recall(agent, "heron", about=None, limit=3) == []
    out = StringIO()
    call_command("reindex_memories", stdout=out)
    assert "wren: 1 memories" in out.getvalue()
    assert memories.recall(agent, "heron", about=None, limit=3)
    counted_anew(agent)
    with pytest.raises(CommandError, match="no agent x"):
        call_command("reindex_memories", "x")


@pytest.mark.django_db(transaction=True)
def test_many_writers_at_once_neither_deadlock_nor_miscount():
    agent = Agent.objects.create(slug="wren", name="Wren")
    errors = []

    def work(n):
        try:
            rows = [memories.write(agent, text=" ".join(WORDS[(n + k) % 7 :] + WORDS[:k])) for k in range(5)]
            memories.update(rows[0], text=WORDS[n % 7])
            memories.delete(rows[1])
        except Exception as error:  # noqa: BLE001 - handed to the test
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Memory.objects.count() == 24
    counted_anew(agent)
