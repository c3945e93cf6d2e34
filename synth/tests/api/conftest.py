"""Callers of every role and two agents, for the REST tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from rest_framework.test import APIClient

from synth.models import Agent, Person
from synth.services import agents, keys, people


class Callers:
    """Persons by role, and a client for each."""

    def __init__(self) -> None:
        self.operator = people.make_operator(people.ensure("olga"), by=None, door="command")
        self.trainer = people.ensure("tara")
        self.other_trainer = people.ensure("otto")
        self.person = people.ensure("pia")
        self.service = people.ensure("frontend")

    def client(self, person: Person, role: str, **headers: str) -> APIClient:
        """A client with a fresh key of that role."""
        client = APIClient()
        plain = keys.issue(person, role=role).plain
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}", **headers)
        return client


@pytest.fixture(autouse=True)
def no_limits(settings: LazySettings) -> Iterator[None]:
    """Rates are tested where a test sets them."""
    settings.RATE_PER_KEY = settings.RATE_PER_ADDRESS = 0
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def callers(db: None) -> Callers:
    return Callers()


@pytest.fixture
def agent(callers: Callers) -> Agent:
    return agents.create(slug="wren", name="Wren", persona="A small bird.", trainers=[callers.trainer])


@pytest.fixture
def other_agent(callers: Callers) -> Agent:
    """Trained by another, open only to another."""
    return agents.create(
        slug="minato", name="Minato", trainers=[callers.other_trainer], people=[callers.other_trainer]
    )


@pytest.fixture
def operator(callers: Callers) -> APIClient:
    return callers.client(callers.operator, "operator")


@pytest.fixture
def trainer(callers: Callers) -> APIClient:
    return callers.client(callers.trainer, "trainer")


@pytest.fixture
def person(callers: Callers) -> APIClient:
    return callers.client(callers.person, "person")
