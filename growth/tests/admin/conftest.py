"""Who opens the pages of growth, and what there is to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from growth.models import GrowthSettings
from growth.tests.proposals.desk import propose
from synth.services import agents, people


def login(person: Any, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


def page(noun: str, row: Any) -> str:
    """The address of a row's page."""
    return reverse(f"admin:growth_{noun}_change", args=[row.pk])


def door(name: str, row: Any) -> str:
    """The address of one of our own views."""
    return reverse(f"admin:growth_{name}", args=[row.pk])


def row_of(agent: Any) -> GrowthSettings:
    return GrowthSettings.objects.get(agent=agent)


@pytest.fixture
def stranger(make_agent: Callable[..., Any]) -> Any:
    """A trainer of another agent."""
    person = people.ensure("tess")
    agents.update(make_agent("minato"), {"trainers": [person]}, by=None, door="command")
    person.refresh_from_db()
    return person


@pytest.fixture
def proposal(agent: Any, trainer: Any, live_week: Any) -> Any:
    """One that waits, with evidence and a list change."""
    entries = live_week(agent)
    evidence = [{"sentence": 0, "quote": "Jay brought his cracked blue teapot", "diary_ids": [entries[0].pk]}]
    return propose(agent, likes=["rain", "plum cake"], evidence=evidence)


@pytest.fixture
def client_of() -> Callable[..., Client]:
    """A logged-in browser of a person."""
    return login
