"""Rows as a queue: claim due rows, keep the lease while working, move a row only while it is still yours.

Rules (docs/background.md): a claim adds one to `attempt` and takes a lease of 60 s, renewed every 20 s;
every later move is guarded by the attempt, so a slow worker and its successor never both win.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from synth.errors import Conflict
from synth.rowqueue.leased import Leased

LEASE_S = 60.0
RENEW_S = 20.0
# Longest work on one row. Below the broker's visibility timeout (1800 s), so a message is never run twice
# for it.
WORK_S = 1500.0
L = TypeVar("L", bound=Leased)
log = structlog.get_logger(__name__)


def due(at: datetime) -> Q:
    """Condition for rows that may be claimed at `at`: due, and without a living lease."""
    return Q(due_at__lte=at) & (Q(lease_until__isnull=True) | Q(lease_until__lte=at))


def claim(queryset: QuerySet[L], *, at: datetime, limit: int = 1) -> list[L]:
    """Take up to `limit` due rows of `queryset`, oldest due first; rows that others hold are passed over.

    The rows come back with their new `attempt` and `lease_until` (60 s after `at`); rows whose worker went
    silent come again. One short transaction of its own, or part of the caller's.
    """
    until = at + timedelta(seconds=LEASE_S)
    with transaction.atomic():
        waiting = queryset.filter(due(at)).order_by("due_at", "pk")
        rows = list(waiting.select_for_update(skip_locked=True, of=("self",))[:limit])
        taken = queryset.model._base_manager.filter(pk__in=[row.pk for row in rows])
        if rows:
            taken.update(attempt=F("attempt") + 1, lease_until=until)
        for row in rows:
            # The rows are locked, so what was read is what was added to.
            row.attempt += 1
            row.lease_until = until
    return rows


def guarded(row: Leased, *, was: Mapping[str, Any] | None = None, **changes: Any) -> None:
    """Write `changes` if this claim of the row still stands; else Conflict `lease_lost`, nothing written.

    `was` adds conditions on columns, such as the status that the caller saw. Plain values are set on `row`
    too.
    """
    mine = type(row)._base_manager.filter(pk=row.pk, attempt=row.attempt, **(was or {}))
    if mine.update(**changes) == 0:
        what = f"{row._meta.label} {row.pk}"
        raise Conflict(f"{what} was taken over by another worker or moved meanwhile.", code="lease_lost")
    for name, value in changes.items():
        if not hasattr(value, "resolve_expression"):
            setattr(row, name, value)


def release(row: Leased, due_at: datetime, **changes: Any) -> None:
    """Give the row back, to be claimed again from `due_at`; Conflict when it is no longer ours."""
    guarded(row, lease_until=None, due_at=due_at, **changes)


class Kept:
    """A lease being renewed. `deadline` is the `time.monotonic()` second by which the work must be over."""

    def __init__(self, row: Leased, work_s: float, renew_s: float) -> None:
        self.row = row
        self.deadline = time.monotonic() + work_s
        self._renew_s = renew_s
        left_s = (row.lease_until - timezone.now()).total_seconds() if row.lease_until else LEASE_S
        self._lease_end = time.monotonic() + min(left_s, LEASE_S)
        self._is_taken = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease-{row.pk}", daemon=True)

    @property
    def lost(self) -> bool:
        """Whether another worker may have the row by now: taken over, or not renewed in time."""
        return self._is_taken or time.monotonic() >= self._lease_end

    @property
    def remaining_s(self) -> float:
        """Seconds left for the work, for the time limit of the next blocking call; never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Conflict `lease_lost` when the row is no longer ours; call it before something costly."""
        if self.lost:
            raise Conflict(f"The lease on {self.row._meta.label} {self.row.pk} is lost.", code="lease_lost")

    def _run(self) -> None:
        while not self._stop.wait(self._renew_s) and not self._is_taken:
            if time.monotonic() >= self.deadline:
                # Work past its deadline gets no more time: a successor may start when the lease runs out.
                return
            try:
                self._renew()
            except DatabaseError as error:
                log.warning("lease_not_renewed", row=self.row.pk, error=str(error))
            finally:
                connection.close()

    def _renew(self) -> None:
        began = time.monotonic()
        until = timezone.now() + timedelta(seconds=LEASE_S)
        with transaction.atomic(), connection.cursor() as cursor:
            # A row locked by its own worker's transaction is not up for grabs; waiting for it would gain
            # nothing.
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            mine = type(self.row)._base_manager.filter(pk=self.row.pk, attempt=self.row.attempt)
            n_renewed = mine.update(lease_until=until)
        if n_renewed:
            self._lease_end = began + LEASE_S
        else:
            self._is_taken = True
            log.warning("lease_lost", row=self.row.pk, model=self.row._meta.label)


@contextmanager
def keep(row: Leased, *, work_s: float = WORK_S, renew_s: float = RENEW_S) -> Iterator[Kept]:
    """Renew the claimed row's lease while the block runs, at most `work_s` seconds.

    The renewals come from a thread of their own, on a connection that is open only for each renewal, so the
    block itself may hold no connection at all during a long call.
    """
    kept = Kept(row, work_s, renew_s)
    kept._thread.start()
    try:
        yield kept
    finally:
        kept._stop.set()
        kept._thread.join(timeout=10)
