"""A web process, a person with a key and a dialogue, and answers that the test itself writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils.timezone import now

from synth import liveness
from synth.api import endings
from synth.chat.publishing import Publisher, courier
from synth.models import Agent, Dialogue, Message, Person, TurnState
from synth.services import agents, dialogues, keys, people
from synth.tests.streams.served import Web


class Answer:
    """An answer as a worker would write it: a leased row, and its events."""

    def __init__(self, dialogue: Dialogue, person: Person, **values: Any) -> None:
        said = Message.objects.create(dialogue=dialogue, role="user", author=person, content="Hello?")
        given = {"status": "streaming", "lease_until": now() + timedelta(seconds=60), "attempt": 1, **values}
        self.row = Message.objects.create(dialogue=dialogue, parent=said, role="assistant", **given)
        TurnState.objects.create(answer=self.row, person=person)
        self.id = self.row.pk
        self.voice = Publisher(self.id)
        self.text = ""

    @property
    def path(self) -> str:
        return f"/api/chat/stream?message={self.id}"

    def start(self) -> None:
        row = self.row
        self.voice.start(dialogue=str(row.dialogue_id), parent=row.parent_id, agent="wren", at=row.at)

    def say(self, text: str) -> None:
        """One event, whatever else was said in the last 20 ms."""
        self.text += text
        self.voice.tell("delta", text=text)

    def save(self, **values: Any) -> None:
        Message.objects.filter(pk=self.id).update(content=self.text, **values)

    def end(self, *, is_told: bool = True, status: str = "complete", **values: Any) -> None:
        """The row first, then the last event."""
        self.save(status=status, lease_until=None, **values)
        self.row.refresh_from_db()
        if not is_told:
            return
        name, data = endings.of_row(self.row)
        if name == "error":
            self.voice.error(data["code"], data["message"])
        else:
            data.pop("message_id")
            self.voice.end(**data)

    def flush(self) -> None:
        assert courier().flush(5)


@pytest.fixture
def person(transactional_db: None) -> Person:
    liveness.client().flushdb()
    return people.ensure("pia")


@pytest.fixture
def key(person: Person) -> str:
    return keys.issue(person, role="person").plain


@pytest.fixture
def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def agent(person: Person) -> Agent:
    return agents.create(slug="wren", name="Wren", persona="You keep the lighthouse.")


@pytest.fixture
def dialogue(agent: Agent, person: Person) -> Dialogue:
    return dialogues.create(agent, person)


@pytest.fixture
def begin(dialogue: Dialogue, person: Person) -> Callable[..., Answer]:
    """Begin an answer; one streams in a dialogue, so the next ones get dialogues of their own."""

    def one(**values: Any) -> Answer:
        place = dialogues.create(dialogue.agent, person) if dialogue.messages.exists() else dialogue
        return Answer(place, person, **values)

    return one


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One for all tests of a file; none of them may end it."""
    with Web(tmp_path_factory.mktemp("web") / "web.log") as running:
        yield running


@pytest.fixture
def own_web(transactional_db: None, tmp_path: Path) -> Iterator[Web]:
    """One that a test may kill."""
    with Web(tmp_path / "web.log") as running:
        yield running
