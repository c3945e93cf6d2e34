"""Works off the rows of one queue: claim, keep, work, and an end with a reason whatever breaks.

A subclass says which rows, what the work is and how a row fails. Trouble of somebody else's machine puts a
row off a few times; our own failures are tried a few times more; a row whose workers keep dying is given up.
When even the end cannot be written, the lease runs out and the row is taken up again.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

import structlog
from django.db.models import QuerySet
from django.utils.timezone import now

from synth import background
from synth.errors import Conflict
from synth.rowqueue import leases
from synth.rowqueue.leased import Tried

R = TypeVar("R", bound=Tried)
log = structlog.get_logger(__name__)
MAX_DETAIL_CHARS = 500


@dataclass(frozen=True)
class Patience:
    """How long a row is tried again. `knock_s`: after this long a new message takes over from this one."""

    backoff_s: tuple[float, ...] = (60, 300, 900)
    crash_backoff_s: float = 30
    max_own_failures: int = 3
    max_crashes: int = 5
    knock_s: float = 600.0


@dataclass(frozen=True)
class Ending:
    """What an error means for a row: it fails for `reason`, at once, or with `is_host_trouble` once
    it was put off as often as may be. `wait_s` is the least to wait, where the host said so."""

    reason: str
    detail: str
    is_host_trouble: bool = False
    wait_s: float = 0


class RowRunner(ABC, Generic[R]):
    """`name` begins the names of log events, `task` is rung for rows."""

    name: ClassVar[str]
    task: ClassVar[str]
    open_statuses: ClassVar[tuple[str, str]] = ("queued", "running")
    patience: ClassVar[Patience] = Patience()
    rings_ahead: ClassVar[bool] = False

    @abstractmethod
    def rows(self) -> QuerySet[R]:
        """All open rows, with what the work reads of other tables."""

    @abstractmethod
    def do(self, row: R, kept: leases.Kept) -> None:
        """The work, to its end; it may raise anything."""

    @abstractmethod
    def fail(self, row: R, reason: str, detail: str) -> None:
        """End a claimed row with a reason; Conflict `lease_lost` when it is no longer ours."""

    @abstractmethod
    def ending(self, error: Exception) -> Ending | None:
        """What an error of the work means; None for a failure of our own."""

    def starting(self, row: R) -> dict[str, Any]:
        """Columns to set when the work begins."""
        return {}

    def run_waiting(self) -> int:
        """Work on rows until none is waiting; returns how many were worked on."""
        n_worked, began = 0, time.monotonic()
        while found := leases.claim(self.rows(), at=now(), limit=1):
            if self.rings_ahead:
                # Another thread may take the next one while this one waits.
                self.ring_if_waiting(now())
            self.work(found[0])
            n_worked += 1
            if time.monotonic() - began > self.patience.knock_s:
                background.ring(self.task)
                break
        return n_worked

    def ring_if_waiting(self, at: datetime) -> None:
        """Wake the worker when a row is due: fresh, put off, or left by a dead worker."""
        if self.rows().filter(leases.due(at)).exists():
            background.ring(self.task)

    def work(self, row: R) -> None:
        """Do one claimed row. Never raises."""
        queued, running = self.open_statuses
        try:
            with leases.keep(row) as kept:
                was = {"status__in": (queued, running)}
                leases.guarded(row, was=was, status=running, **self.starting(row))
                if row.attempt - row.n_host_failures > self.patience.max_crashes:
                    self.fail(row, "gave_up", f"{row.attempt} attempts")
                else:
                    self.do(row, kept)
        except Exception as error:  # noqa: BLE001 - a row must end with a reason, whatever broke
            self._settle(row, error)

    def is_last_try(self, row: R) -> bool:
        """Whether trouble of a host would now end the row."""
        return row.n_host_failures >= len(self.patience.backoff_s)

    def _settle(self, row: R, error: Exception) -> None:
        try:
            self._end(row, error)
        except Exception:  # noqa: BLE001 - the database may be what broke; the lease runs out
            log.exception(f"{self.name}_not_settled", row=row.pk)

    def _end(self, row: R, error: Exception) -> None:
        if isinstance(error, Conflict) and error.code == "lease_lost":
            log.warning(f"{self.name}_taken_over", row=row.pk)
        elif (end := self.ending(error)) is None:
            log.error(f"{self.name}_broke", row=row.pk, exc_info=error)
            self._after_crash(row, f"{type(error).__name__}: {error}"[:MAX_DETAIL_CHARS])
        elif end.is_host_trouble and not self.is_last_try(row):
            wait_s = max(self.patience.backoff_s[row.n_host_failures], end.wait_s)
            self._put_off(row, wait_s, end.detail, n_host_failures=row.n_host_failures + 1)
        else:
            self.fail(row, end.reason, end.detail)

    def _after_crash(self, row: R, detail: str) -> None:
        if row.attempt - row.n_host_failures >= self.patience.max_own_failures:
            self.fail(row, "internal_error", detail)
        else:
            self._put_off(row, self.patience.crash_backoff_s, detail)

    def _put_off(self, row: R, wait_s: float, detail: str, **values: Any) -> None:
        due_at, queued = now() + timedelta(seconds=wait_s), self.open_statuses[0]
        leases.release(row, due_at, status=queued, detail=detail[:MAX_DETAIL_CHARS], **values)
