"""Questions to the stores that are always answered in time: by the store, or by "it does not answer".

A probe asks in a thread of its own, one at a time, and remembers the answer for a second. A store that
hangs costs one hanging thread and its callers 1.5 s, however many ask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count
from django.utils import timezone

from synth import liveness
from synth.rowqueue import queues

LIMIT_S = 1.5
FRESH_S = 1.0
T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What the store said, or why it did not."""

    value: T | None
    error: str = ""


class _Asking(Generic[T]):
    def __init__(self, ask: Callable[[], T]) -> None:
        self.began = time.monotonic()
        self.done = threading.Event()
        self.answer: Answer[T] | None = None
        self._ask = ask
        threading.Thread(target=self._run, name="probe", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answer = Answer(self._ask())
        except Exception as error:  # noqa: BLE001 - whatever went wrong is the answer
            self.answer = Answer(None, f"{type(error).__name__}: {error}"[:300])
        finally:
            connection.close()
            self.done.set()


class Probe(Generic[T]):
    """A question asked in the background. `answer()` takes at most `limit_s`."""

    def __init__(self, ask: Callable[[], T], *, limit_s: float = LIMIT_S, fresh_s: float = FRESH_S) -> None:
        self._ask = ask
        self._limit_s = limit_s
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._current: _Asking[T] | None = None

    def answer(self) -> Answer[T]:
        """The store's answer, at most `fresh_s` old; an error after `limit_s`."""
        with self._lock:
            current = self._current
            if current is None or (
                current.done.is_set() and time.monotonic() - current.began >= self._fresh_s
            ):
                current = self._current = _Asking(self._ask)
        current.done.wait(max(0.0, self._limit_s - (time.monotonic() - current.began)))
        if current.answer is None:
            return Answer(None, f"no answer within {self._limit_s:g} s")
        return current.answer

    def forget(self) -> None:
        """Ask anew next time."""
        with self._lock:
            self._current = None


_is_migrated = False


def ask_database() -> list[str]:
    """Names of migrations that are not applied. Applied ones stay so while this process runs its code."""
    global _is_migrated
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '1500ms'")
    if _is_migrated:
        return []
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    _is_migrated = not plan
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def ask_redis() -> dict[str, dict[str, str]]:
    """Living processes by role."""
    return {role: liveness.alive(role) for role in liveness.ROLES}


@dataclass(frozen=True)
class TickState:
    """A tick beat should send every `every_s`; ages in seconds, None for never."""

    name: str
    every_s: float
    is_enabled: bool
    started_age_s: float | None
    error: str


@dataclass(frozen=True)
class Backlog:
    """What waits, and the last hour's language model calls as (purpose, outcome, number)."""

    depths: list[queues.Depth]
    ticks: list[TickState]
    n_parked: int
    llm_calls: list[tuple[str, str, int]]


def ask_backlog() -> Backlog:
    """The backlog as the rows have it."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '1500ms'")
    at = timezone.now()
    calls = (
        apps.get_model("synth.LlmCall")
        .objects.filter(at__gte=at - timedelta(hours=1))
        .values_list("purpose", "outcome")
        .annotate(n=Count("pk"))
        .order_by("purpose", "outcome")
    )
    n_parked = apps.get_model("synth.EventHandling").objects.filter(status="parked").count()
    return Backlog(queues.depths(at), _ticks(at), n_parked, [tuple(row) for row in calls])


def _ticks(at: Any) -> list[TickState]:
    from django_celery_beat.models import PeriodicTask

    from synth import background

    seen = {tick.name: tick for tick in apps.get_model("synth.Tick").objects.all()}
    plans = PeriodicTask.objects.filter(name__in=background.TICKS).select_related("interval").order_by("name")
    states = []
    for plan in plans:
        tick = seen.get(plan.name)
        age_s = (at - tick.started_at).total_seconds() if tick and tick.started_at else None
        every_s = plan.interval.schedule.run_every.total_seconds() if plan.interval else 60.0
        states.append(TickState(plan.name, every_s, plan.enabled, age_s, tick.error if tick else ""))
    return states


database: Probe[list[str]] = Probe(ask_database)
redis: Probe[dict[str, dict[str, str]]] = Probe(ask_redis)
backlog: Probe[Backlog] = Probe(ask_backlog, fresh_s=5.0)
