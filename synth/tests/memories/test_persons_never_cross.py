"""A memory about one person is never recalled for another, or for nobody."""

import pytest

from synth.models import Agent, Person
from synth.services import memories

pytestmark = pytest.mark.django_db


@pytest.fixture
def world():
    agent, other = Agent.objects.create(slug="a", name="A"), Agent.objects.create(slug="b", name="B")
    mina, jay = Person.objects.create(username="mina"), Person.objects.create(username="jay")
    for owner, about, text in (
        (agent, None, "tea is served at four"),
        (agent, mina, "mina likes green tea"),
        (agent, jay, "jay hates tea, the tea of his aunt"),
        (other, None, "tea for the other agent"),
        (other, mina, "mina told the other agent about tea"),
    ):
        memories.write(owner, text=text, about=about)
    return agent, mina, jay


def texts(agent, about, query="tea", limit=10):
    return {found.memory.text for found in memories.recall(agent, query, about=about, limit=limit)}


def test_nobody_gets_only_what_is_about_nobody(world):
    agent, mina, jay = world
    assert texts(agent, None) == {"tea is served at four"}


def test_a_person_gets_that_and_their_own(world):
    agent, mina, jay = world
    assert texts(agent, mina) == {"tea is served at four", "mina likes green tea"}
    assert texts(agent, jay) == {"tea is served at four", "jay hates tea, the tea of his aunt"}


@pytest.mark.parametrize(
    "query", ["mina", "green", "mnia likes", ["mina", "green", "tea"], "'1.2:tea'", "#7 ^tea"]
)
def test_no_wording_of_a_question_crosses(world, query):
    agent, mina, jay = world
    for about in (None, jay):
        assert not {text for text in texts(agent, about, query) if "mina" in text}


def test_a_memory_that_changes_its_person_changes_sides(world):
    agent, mina, jay = world
    row = memories.write(agent, text="a secret about a heron", about=mina)
    assert texts(agent, mina, "heron") and not texts(agent, jay, "heron")
    memories.update(row, about=jay)
    assert texts(agent, jay, "heron") and not texts(agent, mina, "heron")
    memories.update(row, about=None)
    assert texts(agent, mina, "heron") and texts(agent, None, "heron")


def test_common_words_do_not_cross_either(world, monkeypatch):
    from synth.recall import query

    monkeypatch.setattr(query.choose, "__defaults__", (0,))
    test_a_person_gets_that_and_their_own(world)
    test_nobody_gets_only_what_is_about_nobody(world)
