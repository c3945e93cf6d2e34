"""A dialogue with a short talk in it that ended an hour ago."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from synth.models import Agent, Dialogue, Message, Person
from synth.services import agents, dialogues, people

Talk = Callable[..., None]


@pytest.fixture
def person(db: None) -> Person:
    return people.ensure("pia")


@pytest.fixture
def agent(db: None) -> Agent:
    return agents.create(slug="wren", name="Wren", persona="You keep the lighthouse.")


@pytest.fixture
def dialogue(agent: Agent, person: Person) -> Dialogue:
    return dialogues.create(agent, person)


def add(dialogue: Dialogue, at: datetime, *pairs: tuple[str, str], **values: object) -> Message:
    """Messages below the end of the branch, a second apart."""
    dialogue.refresh_from_db()
    leaf = dialogue.active_leaf
    for n, (role, text) in enumerate(pairs):
        leaf = Message.objects.create(
            dialogue=dialogue, parent=leaf, role=role, content=text, at=at + timedelta(seconds=n), **values
        )
    assert leaf is not None
    Dialogue.objects.filter(pk=dialogue.pk).update(active_leaf=leaf, at=leaf.at, archived_at=None)
    return leaf


@pytest.fixture
def talked(dialogue: Dialogue) -> Dialogue:
    """Pia asked about the kettle an hour ago and was answered."""
    at = timezone.now() - timedelta(hours=1)
    add(dialogue, at, ("user", "My kettle is blue and it leaks."), ("assistant", "Then let us glue it."))
    dialogue.refresh_from_db()
    return dialogue
