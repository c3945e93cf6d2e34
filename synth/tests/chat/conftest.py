"""An agent, people around it, a dialogue, and actions that exist for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from synth import actions, registries
from synth.actions import Action, Outcome
from synth.models import Agent, Dialogue, Message, Person
from synth.services import agents, dialogues, people


class Bell(BaseModel, extra="forbid"):
    """How often to ring."""

    times: int = 1


@pytest.fixture
def person(db: None) -> Person:
    return people.ensure("pia")


@pytest.fixture
def trainer(db: None) -> Person:
    return people.ensure("tara")


@pytest.fixture
def agent(trainer: Person) -> Agent:
    return agents.create(slug="wren", name="Wren", persona="You keep the lighthouse.", trainers=[trainer])


@pytest.fixture
def dialogue(agent: Agent, person: Person) -> Dialogue:
    return dialogues.create(agent, person)


@pytest.fixture
def trainers_dialogue(agent: Agent, trainer: Person) -> Dialogue:
    return dialogues.create(agent, trainer)


class Rung(list[Any]):
    """Payloads the handler was given; `outcome` is what it answers, or raises."""

    outcome: Any = None

    def __call__(self, turn: Any, payload: Any) -> Outcome:
        self.append(payload)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome or Outcome(f"The bell rang ({len(self)}).", {"n": len(self)})


@pytest.fixture
def add() -> Iterator[Callable[..., Rung]]:
    """Registers an action and takes it out again; gives what its handler was called with."""
    names: list[str] = []

    def make(name: str = "bell_ring", **values: Any) -> Rung:
        rung = Rung()
        values = {"arguments": Bell, "risk": "reversible", **values}
        actions.register(Action(name, "Rings the bell.", rung, **values))
        names.append(name)
        return rung

    yield make
    for name in names:
        actions.unregister(name)


@pytest.fixture
def opener() -> Iterator[Callable[..., None]]:
    """Registers turn openers and takes them out again."""
    before = dict(registries.turn_openers._entries)
    registries.turn_openers._entries.clear()
    yield lambda name, fn: registries.turn_openers.add(name, fn)
    registries.turn_openers._entries.clear()
    registries.turn_openers._entries.update(before)


def tree(dialogue: Dialogue) -> list[tuple[str, str, str]]:
    """(role, status, content) along the branch that is shown, root first."""
    dialogue.refresh_from_db()
    found: list[Message] = []
    node = dialogue.active_leaf
    while node is not None:
        found.append(node)
        node = node.parent
    return [(m.role, m.status, m.content) for m in reversed(found)]


def call(name: str = "bell_ring", arguments: Any = None) -> dict[str, Any]:
    """A scripted tool call."""
    return {"name": name, "arguments": {} if arguments is None else arguments}
