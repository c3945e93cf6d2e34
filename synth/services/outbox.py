"""Facts that other apps hear about: saved with the change that made them true, handled once by each handler.

Contract: no order; handlers re-read the rows they are told of; a handler's work and its "handled" mark are
one transaction; 8 tries over a day, then parked until an operator asks for another try; handled events go
after 14 days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from synth import background
from synth.errors import Conflict
from synth.models import EventHandling, HandlingStatus, OutboxEvent, Person
from synth.rowqueue import leases
from synth.rowqueue.deadline import Deadline
from synth.services import audit

Handler = Callable[[dict[str, Any]], None]
DRAIN_TASK = "synth.tasks.drain_handler"
KEEP = timedelta(days=14)
PRUNE_CHUNK = 1000
_DOTTED = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


@dataclass(frozen=True)
class Subscription:
    """One handler of one event. `name` is stored in rows, so it outlives renamed functions."""

    name: str
    event: str
    handle: Handler


HANDLERS: dict[str, Subscription] = {}


def subscribe(event: str, handler_name: str) -> Callable[[Handler], Handler]:
    """Decorator: call the function for every later `event`. `handler_name` is dotted, unique, never reused.

    The function gets the payload, runs inside a transaction (so it cannot call a language model), and may
    run again after a failure, never after a success.
    """
    for text in (event, handler_name):
        if not _DOTTED.fullmatch(text):
            raise ValueError(f"{text!r}: names are dotted lower case, `app.noun_verbed`")

    def add(handle: Handler) -> Handler:
        if handler_name in HANDLERS:
            raise ValueError(f"handler {handler_name} is subscribed twice")
        HANDLERS[handler_name] = Subscription(handler_name, event, handle)
        return handle

    return add


def handlers_of(event: str) -> list[str]:
    """Names of the handlers subscribed to an event."""
    return [name for name, subscription in HANDLERS.items() if subscription.event == event]


def publish(name: str, payload: dict[str, Any]) -> OutboxEvent:
    """Save the event with one row for each subscribed handler, and ring them on commit.

    `payload` is small JSON: ids and values. RuntimeError outside a transaction: the event must be saved
    with the change it tells of, or not at all.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(f"publish({name!r}) outside a transaction")
    if not _DOTTED.fullmatch(name):
        raise ValueError(f"{name!r}: event names are dotted lower case, `app.noun_verbed`")
    at = timezone.now()
    event = OutboxEvent.objects.create(name=name, payload=payload, at=at)
    handlers = handlers_of(name)
    EventHandling.objects.bulk_create(
        [EventHandling(event=event, handler=handler, due_at=at) for handler in handlers]
    )
    ring_handlers(handlers)
    return event


def ring_handlers(handlers: Iterable[str]) -> None:
    """Wake one drain for each handler, so that a slow one holds up no other."""
    for handler in handlers:
        background.ring(DRAIN_TASK, handler)


def waiting_handlers(at: datetime) -> list[str]:
    """Handlers with rows that may be claimed now, the longest waiting first."""
    rows = EventHandling.objects.filter(leases.due(at), status=HandlingStatus.WAITING)
    oldest = rows.values("handler").annotate(oldest=Min("due_at")).order_by("oldest")
    return [row["handler"] for row in oldest]


def prune(deadline: Deadline, *, at: datetime | None = None) -> int:
    """Delete events that every handler finished 14 days ago, in chunks; their number. Parked ones stay."""
    before = (at or timezone.now()) - KEEP
    unfinished = EventHandling.objects.filter(event=OuterRef("pk")).filter(
        ~Q(status=HandlingStatus.HANDLED) | Q(handled_at__gte=before)
    )
    old = OutboxEvent.objects.filter(~Exists(unfinished), at__lt=before).order_by("at", "id")
    n_deleted = 0
    while not deadline.is_over:
        ids = list(old.values_list("pk", flat=True)[:PRUNE_CHUNK])
        if not ids:
            break
        with transaction.atomic():
            EventHandling.objects.filter(event__in=ids).delete()
            OutboxEvent.objects.filter(pk__in=ids).delete()
        n_deleted += len(ids)
    return n_deleted


def retry_parked(handling_id: int, *, by: Person, door: str = "admin") -> EventHandling:
    """Give a parked handling another eight tries, starting now; Conflict when it is not parked."""
    with transaction.atomic():
        parked = EventHandling.objects.filter(pk=handling_id, status=HandlingStatus.PARKED)
        n_moved = parked.update(
            status=HandlingStatus.WAITING, n_failures=0, due_at=timezone.now(), lease_until=None
        )
        if n_moved == 0:
            raise Conflict("This event is not parked any more.", code="not_parked")
        row = EventHandling.objects.select_related("event").get(pk=handling_id)
        before, after = {"status": "parked", "error": row.error}, {"status": "waiting"}
        audit.record(by, door=door, action="event_retry", object=row, before=before, after=after)
        ring_handlers([row.handler])
    return row
