"""The rules of agents and diary, below any door."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synth import selectors
from synth.errors import Conflict, Invalid, Refused
from synth.models import Agent, AuditEntry, OutboxEvent
from synth.services import agents, diary, people

pytestmark = pytest.mark.django_db


def test_the_first_persona_that_is_not_blank_is_the_founding_one() -> None:
    agent = agents.create(slug="a", name="A")
    for persona in ("first", "second", ""):
        agent = agents.update(agent, {"persona": persona}, by=None, door="command")
    assert agent.founding_persona == "first"


def test_a_like_wins_over_a_dislike_whichever_is_set() -> None:
    agent = agents.create(slug="a", name="A", dislikes=["Rain", "noise"])
    agent = agents.update(agent, {"likes": ["rain"]}, by=None, door="command")
    assert (agent.likes, agent.dislikes) == (["rain"], ["noise"])


def test_a_slug_that_was_taken_meanwhile_is_a_conflict() -> None:
    agents.create(slug="a", name="A")
    other = agents.create(slug="b", name="B")
    with pytest.raises(Conflict):
        agents.update(other, {"slug": "A"}, by=None, door="command")
    assert Agent.objects.get(pk=other.pk).slug == "b"


def test_what_fails_leaves_no_event_and_no_entry() -> None:
    agent = agents.create(slug="a", name="A")
    n_events, n_entries = OutboxEvent.objects.count(), AuditEntry.objects.count()
    for changes, error in (
        ({"slug": "runs"}, Refused),
        ({"founding_persona": "x"}, Invalid),
        ({"name": 5}, Invalid),
    ):
        with pytest.raises(error):
            agents.update(agent, changes, by=None, door="command")
    assert (OutboxEvent.objects.count(), AuditEntry.objects.count()) == (n_events, n_entries)


def test_an_archived_agent_is_changed_no_more() -> None:
    agent = agents.create(slug="a", name="A")
    agents.archive(agent, by=None, door="command")
    with pytest.raises(Conflict):
        agents.archive(agent, by=None, door="command")
    with pytest.raises(Conflict):
        agents.update(agent, {"name": "B"}, by=None, door="command")
    agents.unarchive(agent, by=None, door="command")
    assert (
        OutboxEvent.objects.filter(name="synth.agent_changed", payload__fields=["archived_at"]).count() == 2
    )


def test_an_archived_person_trains_nobody() -> None:
    pia = people.ensure("pia")
    people.archive(pia, by=None, door="command")
    with pytest.raises(Refused):
        agents.create(slug="a", name="A", trainers=[pia])


def test_a_diary_between_two_instants_is_half_open_and_oldest_first() -> None:
    agent = agents.create(slug="a", name="A")
    start = datetime(2026, 5, 4, tzinfo=UTC)
    for hours in (48, 24, 0, -1):
        diary.write(agent, content=str(hours), at=start + timedelta(hours=hours))
    found = selectors.diary_between(agent, start, start + timedelta(hours=48))
    assert [entry.content for entry in found] == ["0", "24"]


@pytest.mark.parametrize(
    "values",
    [{"content": ""}, {"content": " \n"}, {"content": "a\x00"}, {"content": "é" * 33_000}, {"content": 5},
     {"content": "x", "at": datetime(2026, 5, 4)}, {"content": "x", "source": "dream"},  # noqa: DTZ001
     {"content": "x", "tags": "text"}, {"content": "x", "people": [5]}],
)  # fmt: skip
def test_a_bad_entry_is_invalid(values) -> None:
    with pytest.raises(Invalid):
        diary.write(agents.create(slug="a", name="A"), **values)
