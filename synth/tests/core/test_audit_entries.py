"""A change and its audit entry stand or fall together; a refusal is on record whatever is rolled back."""

from __future__ import annotations

import pytest
import structlog
from django.db import transaction

from synth.errors import Refused
from synth.models import Agent, AuditEntry, Person
from synth.services import audit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def person() -> Person:
    return Person.objects.create(username="ana")


def test_an_entry_names_actor_door_object_and_trace(person):
    agent = Agent.objects.create(slug="mika", name="Mika")
    with structlog.contextvars.bound_contextvars(request_id="req-1"):
        audit.record(
            person,
            door="rest",
            action="agent_update",
            object=agent,
            before={"name": "M"},
            after={"name": "Mika"},
            agent=agent,
        )
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.actor_label, entry.door) == (person, "ana", "rest")
    assert (entry.object, entry.agent, entry.outcome) == (f"synth.agent:{agent.pk}", agent, "done")
    assert (entry.before, entry.after, entry.trace_id) == ({"name": "M"}, {"name": "Mika"}, "req-1")


@pytest.mark.parametrize(("actor", "label"), [("growth.run_cycles", "growth.run_cycles"), (None, "system")])
def test_a_task_may_be_the_actor(actor, label):
    audit.record(actor, door="task", action="run", object="x:1")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.actor_label) == (None, label)


def test_a_door_that_does_not_exist_is_refused(person):
    with pytest.raises(ValueError, match="window"):
        audit.record(person, door="window", action="run", object="x:1")


def test_an_entry_goes_when_its_change_is_rolled_back(person):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record(person, door="rest", action="run", object="x:1")
        raise ZeroDivisionError
    assert AuditEntry.objects.count() == 0


def test_a_refusal_stays_when_the_caller_is_rolled_back(person):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record_refused(person, door="rest", action="approve", object="x:1", reason="stale")
        raise ZeroDivisionError
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.outcome, entry.reason) == (person, "refused", "stale")


def test_a_refusal_is_recorded_while_the_caller_locks_its_actor(person):
    with transaction.atomic():
        Person.objects.select_for_update().get(pk=person.pk)
        audit.record_refused(person, door="rest", action="approve", object="x:1", reason="stale")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.actor_label) == (None, "ana")


def test_a_refusal_by_somebody_the_transaction_made_is_recorded():
    with transaction.atomic():
        newcomer = Person.objects.create(username="new")
        audit.record_refused(newcomer, door="rest", action="approve", object="x:1", reason="stale")
        transaction.set_rollback(True)
    assert AuditEntry.objects.get().actor_label == "new"


def test_refusals_of_a_block_are_recorded_with_their_code(person):
    with pytest.raises(Refused):
        with audit.refusals(person, door="admin", action="revert", object="x:1"), transaction.atomic():
            Person.objects.create(username="undone")
            raise Refused("No.", code="not_now")
    assert AuditEntry.objects.get().reason == "not_now"
    assert not Person.objects.filter(username="undone").exists()


def test_a_block_that_ends_well_leaves_no_refusal(person):
    with audit.refusals(person, door="admin", action="revert", object="x:1"):
        pass
    assert AuditEntry.objects.count() == 0
