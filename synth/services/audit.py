"""Writes down who changed what, and who was refused what, through which door.

`record` belongs in the transaction of the change. `record_refused` survives the caller's rollback.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import structlog
from django.db import DatabaseError, connection, transaction

from synth import logs
from synth.errors import DomainError
from synth.models import AuditEntry, Door, Person

if TYPE_CHECKING:
    from synth.models import Agent

Actor = Person | str | None
LOCK_WAIT_MS = 500
log = structlog.get_logger(__name__)


def record(
    actor: Actor,
    *,
    door: str,
    action: str,
    object: str | Any,
    before: Any = None,
    after: Any = None,
    outcome: str = "done",
    reason: str = "",
    agent: Agent | None = None,
) -> AuditEntry:
    """Write one entry. `actor` is a person, or the name of a task; `object` is a row or `app.model:id`.

    `before` and `after` are JSON values of what changed. ValueError for a door that does not exist.
    """
    entry = _entry(actor, door=door, action=action, object=object, reason=reason, agent=agent)
    entry.before, entry.after, entry.outcome = before, after, outcome
    entry.save(force_insert=True)
    return entry


def record_refused(
    actor: Actor, *, door: str, action: str, object: str | Any, reason: str, agent: Agent | None = None
) -> None:
    """Write an entry with outcome `refused` that stays even when the caller's transaction is rolled back."""
    entry = _entry(actor, door=door, action=action, object=object, reason=reason, agent=agent)
    entry.outcome = "refused"
    if _is_in_own_hands():
        entry.save(force_insert=True)
        return
    writer = threading.Thread(target=_write_apart, args=(entry,), name="audit")
    writer.start()
    writer.join()


@contextmanager
def refusals(
    actor: Actor, *, door: str, action: str, object: str | Any, agent: Agent | None = None
) -> Iterator[None]:
    """Write down a refusal that leaves the block, then let it go on; the reason is the error's code."""
    try:
        yield
    except DomainError as error:
        record_refused(actor, door=door, action=action, object=object, reason=error.code, agent=agent)
        error.is_on_record = True
        raise


def _entry(
    actor: Actor, *, door: str, action: str, object: str | Any, reason: str, agent: Agent | None
) -> AuditEntry:
    person = actor if isinstance(actor, Person) else None
    return AuditEntry(
        actor=person,
        actor_label=(person.username if person else str(actor or "system"))[:200],
        door=Door(door),
        action=action,
        object=(object if isinstance(object, str) else f"{object._meta.label_lower}:{object.pk}")[:150],
        agent=agent,
        reason=reason,
        trace_id=logs.trace_id(),
    )


def _is_in_own_hands() -> bool:
    """Whether a plain write is right: no transaction is open, or only the one around a test."""
    blocks = connection.atomic_blocks
    return not blocks or bool(getattr(blocks[0], "_from_testcase", False))


def _write_apart(entry: AuditEntry) -> None:
    """Write on this thread's own connection.

    The caller may hold a lock on the actor's or the agent's row, and waits for us: after a short wait the
    entry is written without those two links; the label and the object still name them.
    """
    try:
        try:
            _write_within(entry, LOCK_WAIT_MS)
        except DatabaseError:
            entry.pk, entry.actor, entry.agent = None, None, None
            _write_within(entry, LOCK_WAIT_MS)
    except DatabaseError:
        log.exception("refusal_not_recorded", action=entry.action, object=entry.object)
    finally:
        connection.close()


def _write_within(entry: AuditEntry, ms: int) -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {int(ms)}")
        entry.save(force_insert=True)
