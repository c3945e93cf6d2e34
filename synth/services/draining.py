"""Handles what the outbox holds: claims one (event, handler) row at a time and runs its handler once.

Each claim is charged as a failure with its delay before the handler runs, and given back on success. So a
handler that takes its whole process down is retried ever later and parked too, with nobody left to write
the failure.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from synth import faults
from synth.errors import Conflict
from synth.models import EventHandling, HandlingStatus
from synth.rowqueue import leases
from synth.rowqueue.deadline import Deadline
from synth.services import outbox

# Waits after failures 1 to 7; the eighth parks. Together 22 h 26 min.
BACKOFF_MIN = (1, 5, 20, 60, 180, 360, 720)
MAX_TRIES = len(BACKOFF_MIN) + 1
# Drains of one handler at a time, in all workers: a slow handler must not fill the pool.
MAX_AT_ONCE = 2
STATEMENT_S = 30
IDLE_S = 60
DIED = "each try ended together with its process"
Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)

faults.declare("outbox.claim.after", "a claimed row whose worker died is handled by the next one")
faults.declare("outbox.handled.before", "the handler's work and its mark are undone together, and done again")
faults.declare("outbox.handled.after", "work that was committed is not done again")
faults.declare("outbox.failure.before", "a failure nobody wrote down still counts as a try")


def drain(handler: str | None = None, deadline: Deadline | None = None, clock: Clock = timezone.now) -> int:
    """Handle what waits for one handler, or for all in turns, until nothing is due; the number handled."""
    deadline = deadline or Deadline(50)
    n_handled = 0
    names = [handler] if handler is not None else outbox.waiting_handlers(clock())
    while names and not deadline.is_over:
        for name in list(names):
            row = None if deadline.is_over else _claim(name, clock())
            if row is None:
                names.remove(name)
            else:
                n_handled += handle(row, clock)
    return n_handled


def _claim(handler: str, at: datetime) -> EventHandling | None:
    """One charged row of the handler, or None when nothing is due or enough others are at it."""
    rows = EventHandling.objects.filter(handler=handler, status=HandlingStatus.WAITING)
    if rows.filter(lease_until__gt=at).count() >= MAX_AT_ONCE:
        return None
    with transaction.atomic():
        claimed = leases.claim(rows, at=at)
        for row in claimed:
            wait = timedelta(minutes=BACKOFF_MIN[min(row.n_failures, len(BACKOFF_MIN) - 1)])
            leases.guarded(row, n_failures=row.n_failures + 1, due_at=at + wait)
    faults.point("outbox.claim.after")
    return claimed[0] if claimed else None


def handle(row: EventHandling, clock: Clock = timezone.now) -> bool:
    """Run a claimed row's handler and mark it handled in one transaction; False when that failed.

    Never raises for what the handler does. A row that a successor took over meanwhile is left alone.
    """
    if row.n_failures > MAX_TRIES:
        _settle_failure(row, DIED, clock())
        return False
    try:
        _run(row, clock)
    except Conflict as conflict:
        if conflict.code != "lease_lost":
            _settle_failure(row, _describe(conflict), clock())
        return False
    except Exception as error:  # noqa: BLE001 - a handler may raise anything; it is that row's failure only
        log.warning("event_handler_failed", handler=row.handler, event_id=row.event_id, exc_info=True)
        _settle_failure(row, _describe(error), clock())
        return False
    faults.point("outbox.handled.after")
    return True


def _run(row: EventHandling, clock: Clock) -> None:
    """The handler's transaction. Its row lock is the lease: while it lasts, no claim can take the row."""
    with transaction.atomic():
        _limit_time()
        mine = EventHandling.objects.select_for_update(of=("self",)).select_related("event")
        try:
            locked = mine.get(pk=row.pk, attempt=row.attempt, status=HandlingStatus.WAITING)
        except EventHandling.DoesNotExist:
            raise Conflict("Another worker took the row over.", code="lease_lost") from None
        subscription = outbox.HANDLERS.get(row.handler)
        if subscription is None:
            # Counted as a failed try, not parked at once: during an upgrade an older worker may not know it
            # yet.
            raise LookupError(f"no handler is named {row.handler}")
        subscription.handle(locked.event.payload)
        faults.point("outbox.handled.before")
        leases.guarded(
            row,
            was={"status": HandlingStatus.WAITING},
            status=HandlingStatus.HANDLED,
            handled_at=clock(),
            lease_until=None,
            n_failures=row.n_failures - 1,
            error="",
        )


def _limit_time() -> None:
    """The server ends a slow statement, and a transaction that sits idle: no handler keeps its row."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_S}s'")
        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_S}s'")


def _settle_failure(row: EventHandling, error: str, at: datetime) -> None:
    """Write the failure down: wait for the next try, or park after the last one.

    When even that fails (no database), the row was charged at its claim and comes back by itself.
    """
    faults.point("outbox.failure.before")
    was = {"status": HandlingStatus.WAITING}
    try:
        # A handler may have broken the connection; a fresh one is opened when needed.
        connection.close_if_unusable_or_obsolete()
        if row.n_failures >= MAX_TRIES:
            n_tries = min(row.n_failures, MAX_TRIES)
            leases.guarded(
                row, was=was, status=HandlingStatus.PARKED, error=error, lease_until=None, n_failures=n_tries
            )
            log.error("event_parked", handler=row.handler, event_id=row.event_id, error=error)
            return
        wait = timedelta(minutes=BACKOFF_MIN[row.n_failures - 1])
        leases.guarded(row, was=was, error=error, lease_until=None, due_at=at + wait)
    except Conflict:
        # Handled after all (a hook after the commit raised), or taken over.
        log.warning("event_failure_moot", handler=row.handler, event_id=row.event_id, error=error)
    except DatabaseError:
        log.exception("event_failure_not_written", handler=row.handler, event_id=row.event_id)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:2000].replace("\x00", "")
