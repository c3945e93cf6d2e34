"""An erase that meets a writer the other way round is tried again, and both end well."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection, transaction
from django.utils.timezone import now

from synth.models import Memory, Person
from synth.recall import index
from synth.services import agents, erase, memories, people


def is_waited_for() -> bool:
    """Whether somebody waits for an advisory lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone() is not None


@pytest.mark.django_db(transaction=True)
def test_an_erase_that_is_given_up_in_a_deadlock_is_tried_again() -> None:
    agent = agents.create(slug="wren", name="Wren")
    person = people.ensure("pia")
    memories.write(agent, text="Pia likes tea.", about=person)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            erase.erase_person("pia", at=now())
        except BaseException as error:  # noqa: BLE001 - the test shows it
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    with transaction.atomic():
        index.lock(agent.pk)
        thread.start()
        end = time.monotonic() + 20
        while not is_waited_for() and time.monotonic() < end:
            time.sleep(0.02)
        # The erase holds the person and waits for the memories; this waits for the person.
        memories.write(agent, text="Pia likes cake.", about=person)
    thread.join(30)
    assert failed == []
    assert not Person.objects.filter(username="pia").exists()
    assert not Memory.objects.filter(text__contains="Pia").exists()
