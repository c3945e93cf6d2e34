import pytest

from synth.models import Agent, MemoryTerm, Person
from synth.services import memories

pytestmark = pytest.mark.django_db


def test_a_written_memory_is_recalled_at_once():
    agent = Agent.objects.create(slug="a", name="A")
    p = Person.objects.create(username="p")
    m = memories.write(agent, text="Anna loves the harbour of Kyoto", tags=["travel"], name="anna-kyoto")
    memories.write(agent, text="京都の桜を見に行った", about=p)
    memories.write(agent, text="the weather is nice")
    assert memories.recall(agent, "kyoto", about=None, limit=3)[0].memory == m
    assert memories.recall(agent, "Koyto?", about=None, limit=3)[0].memory == m
    assert memories.recall(agent, "京都", about=None, limit=3) == []
    assert len(memories.recall(agent, "京都", about=p, limit=3)) == 1
    m2 = memories.update(m, text="Ben", name="")
    assert memories.recall(agent, "kyoto", about=None, limit=3) == []
    memories.delete(m2)
    print(list(MemoryTerm.objects.values_list("term", "n_memories")))
