"""Logged-in operator and trainer, for the admin tests."""

from __future__ import annotations

import pytest
from django.test import Client

from synth.models import Agent, Person
from synth.services import agents, people


def login(person: Person) -> Client:
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def olga(db: None) -> Person:
    return people.make_operator(people.ensure("olga"), by=None, door="command")


@pytest.fixture
def tara(db: None) -> Person:
    return people.ensure("tara")


@pytest.fixture
def wren(tara: Person) -> Agent:
    agent = agents.create(slug="wren", name="Wren", persona="A bird.", likes=["tea"], trainers=[tara])
    tara.refresh_from_db()
    return agent


@pytest.fixture
def minato(db: None) -> Agent:
    return agents.create(slug="minato", name="Minato")


@pytest.fixture
def operator(olga: Person) -> Client:
    return login(olga)


@pytest.fixture
def trainer(tara: Person, wren: Agent) -> Client:
    return login(tara)
