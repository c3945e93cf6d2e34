"""A proactive message is attached once, at the end of the branch shown."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from synth.errors import Conflict, Invalid
from synth.models import Dialogue, Message
from synth.services import agents, dialogues, people


@pytest.fixture
def dialogue(db):
    agent = agents.create(slug="wren", name="Wren")
    return dialogues.create(agent, people.ensure("pia"))


def test_a_node_ends_the_branch_and_brings_the_dialogue_back(dialogue):
    dialogues.archive(dialogue)
    first = dialogues.attach_proactive_node(dialogue, "Good morning.", {"delivery": 3})
    second = dialogues.attach_proactive_node(dialogue, "Still there?")
    dialogue.refresh_from_db()
    assert (first.parent_id, second.parent_id) == (None, first.pk)
    assert (dialogue.active_leaf_id, dialogue.archived_at) == (second.pk, None)
    assert (first.role, first.status, first.metadata) == ("proactive", "complete", {"delivery": 3})


def test_blank_and_deleted_are_refused(dialogue):
    with pytest.raises(Invalid):
        dialogues.attach_proactive_node(dialogue, " \n")
    dialogues.delete(Dialogue.objects.get(pk=dialogue.pk))
    with pytest.raises(Conflict, match="deleted"):
        dialogues.attach_proactive_node(dialogue, "Hello?")


@pytest.mark.django_db(transaction=True)
def test_eight_senders_of_one_key_make_one_node():
    agent = agents.create(slug="wren", name="Wren")
    dialogue = dialogues.create(agent, people.ensure("pia"))
    found: list[int] = []

    def send() -> None:
        try:
            node = dialogues.attach_proactive_node(dialogue, "Hello.", {"a": 1}, dedupe="delivery:7")
            found.append(node.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1 and Message.objects.count() == 1
