"""What growth's tests start from: an agent, people around it, no settings in the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from growth.options import FIELDS
from growth.services import clock, effective
from synth.services import agents, diary, people

WEEK = (
    "Jay brought his cracked blue teapot to the workshop and we glued the handle together on the balcony.",
    "Ana called from Lisbon; her sister's exam went well, she laughed so loudly the cat ran off.",
    "I got lost near the old tram depot with Jay, and we found a bakery that sells plum cake at night.",
    "Rain all day. I read Ana's letter twice and wrote four pages back about the lighthouse.",
    "Jay's teapot leaks. We decided to keep it as a flower pot on the balcony.",
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No growth variable is set, nothing was warned of, no tick has run."""
    for option in FIELDS.values():
        monkeypatch.delenv(option.name, raising=False)
    monkeypatch.setattr(effective, "_warned", set())
    monkeypatch.setattr(clock, "_seen_environment", None)
    yield


@pytest.fixture
def make_agent(db: None) -> Callable[..., Any]:
    """Make an agent by slug, with settings row and planned cycle."""

    def make(slug: str = "wren", **values: Any) -> Any:
        values.setdefault("timezone", "Europe/London")
        agent = agents.create(slug=slug, name=values.pop("name", slug.title()), **values)
        clock.recompute(agent.pk, timezone.now())
        return agent

    return make


@pytest.fixture
def agent(make_agent: Callable[..., Any]) -> Any:
    """An agent in London without a diary."""
    return make_agent(persona="I repair things.", likes=["rain"], dislikes=["noise"])


@pytest.fixture
def live_week() -> Callable[..., list[Any]]:
    """Write one entry a day for the last days before today."""

    def live(agent: Any, texts: tuple[str, ...] = WEEK, **values: Any) -> list[Any]:
        today = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)
        return [
            diary.write(agent, content=text, at=today - timedelta(days=1 + n % 6), **values)
            for n, text in enumerate(texts)
        ]

    return live


@pytest.fixture
def trainer(agent: Any) -> Any:
    """A trainer of the agent."""
    person = people.ensure("tomas")
    agents.update(agent, {"trainers": [person]}, by=None, door="command")
    person.refresh_from_db()
    return person


@pytest.fixture
def operator(db: None) -> Any:
    """An operator."""
    return people.make_operator(people.ensure("olive"), by=None, door="command")


def utc(text: str) -> datetime:
    """`2026-11-29 03:00` as an aware UTC instant."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
