"""Erasing a person takes their deliveries and their words in those of others."""

from __future__ import annotations

import pytest
from django.utils.timezone import now

from reminders.models import Delivery, InboxCounter
from reminders.services import carrying
from synth.services import agents, erase, memories, people
from synth.testing.whole_database import grep

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_person_is_erased_with_their_deliveries(pia, send):
    agent = agents.create(slug="wren", name="Wren", persona="A bird.")
    words = "Pia collects blue glass bottles from the old harbour"
    memories.write(agent, text=words, about=pia)
    olga = people.ensure("olga")
    send(person=pia, title="For her")
    carrying.drain_all()
    other = send(person=olga, title="Proposal", body=f"{words}.", metadata={"by": "pia", "proposal": 3})
    receipt = erase.erase_person("pia", at=now())
    assert receipt.counts["reminders.deliveries"] == {"reminders.Delivery": 2}
    assert not InboxCounter.objects.filter(person__username="pia").exists()
    row = Delivery.objects.get()
    assert row.pk == other.pk
    assert (row.title, row.body, row.metadata["proposal"]) == ("Proposal", "[removed]", 3)
    assert not {name for name in receipt.leftovers if name.startswith("reminders")}


def test_nothing_of_a_person_is_left_in_deliveries(pia, send):
    pia = people.update(pia, {"first_name": "Piamaria", "last_name": "Lund"}, by=None, door="command")
    agent = agents.create(slug="wren", name="Wren")
    words = "Piamaria collects blue glass bottles from the old harbour of Esbjerg"
    memories.write(agent, text=words, about=pia)
    send(person=pia, body=words)
    send(person=people.ensure("olga"), title="Of Piamaria Lund", metadata={"why": words, "n": 1})
    send(interface_path="webhook/https://hooks.example/pia", body="A word.")
    send(interface_path="webhook/https://hooks.example/others", body=f"He said: {words}!")
    assert all(grep(marker) for marker in ("piamaria", "esbjerg", "hooks.example/pia"))
    receipt = erase.erase_person("pia", at=now())
    assert [grep(marker) for marker in ("piamaria", "esbjerg", "hooks.example/pia")] == [[], [], []]
    assert receipt.leftovers == {}
    left = Delivery.objects.order_by("pk")
    assert [(row.title, row.body, row.metadata) for row in left] == [
        ("[removed]", "A word.", {"why": "[removed]", "n": 1}),
        ("Hello", "[removed]", {}),
    ]
