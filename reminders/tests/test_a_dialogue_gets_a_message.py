"""The dialogue channel adds one message of the agent, exactly once."""

from __future__ import annotations

import pytest

from reminders.models import Delivery
from reminders.services import carrying
from reminders.tests.rows import Message
from reminders.tests.workers import at_once
from synth import faults
from synth.services import agents, dialogues

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dialogue(pia):
    return dialogues.create(agents.create(slug="wren", name="Wren", persona="A bird."), pia)


def test_a_message_that_answers_nothing_is_added(dialogue, pia, send):
    row = send(interface_path=f"dialogue/{dialogue.pk}", metadata={"proposal": 3}, kind="proposal")
    assert row.person == pia
    assert carrying.drain_all() == 1
    message = Message.objects.get()
    assert (message.role, message.content) == ("proactive", "Hello\n\nA word.")
    assert message.metadata == {"proposal": 3, "delivery": row.pk, "kind": "proposal"}
    row.refresh_from_db()
    assert (row.status, row.seq) == ("sent", None)


def test_eight_workers_add_it_once(dialogue, send):
    for _ in range(10):
        send(interface_path=f"dialogue/{dialogue.pk}")
    at_once(*[lambda: carrying.drain("dialogue") for _ in range(8)])
    assert sorted(m.metadata["delivery"] for m in Message.objects.all()) == sorted(
        Delivery.objects.values_list("pk", flat=True)
    )


def test_a_mark_that_fails_takes_the_message_back(dialogue, send, monkeypatch):
    send(interface_path=f"dialogue/{dialogue.pk}")

    def broken(name: str) -> None:
        if name == "reminders.sent.before":
            raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", broken)
        assert carrying.drain_all() == 0
    assert not Message.objects.exists()
    Delivery.objects.update(due_at=Delivery.objects.get().at)
    assert carrying.drain_all() == 1
    assert Message.objects.count() == 1


def test_a_dialogue_deleted_meanwhile_ends_the_trying(dialogue, send):
    row = send(interface_path=f"dialogue/{dialogue.pk}")
    dialogues.delete(dialogue)
    assert carrying.drain_all() == 0
    row.refresh_from_db()
    assert (row.status, row.results[0]["detail"]) == ("failed", "the dialogue is gone")
