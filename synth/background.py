"""Background work: ticks that beat sends every minute, and doorbells rung when a row is waiting.

Due times stand in rows. A tick looks for due rows; a ring only makes it sooner, so a lost ring costs at
most one tick's interval and a ring for work already done costs nothing.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import connection, transaction
from django.utils import timezone

from synth import liveness

# A mark outlives its message at most this long, so that a message lost with the broker silences no one for
# longer.
RING_S = 10
QUIET_S = 2.0
MARK = "Tick of Synth"
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class TickPlan:
    """A periodic call of a Celery task; an admin may change or disable its row in the database."""

    name: str
    task: str
    every_s: int


TICKS: dict[str, TickPlan] = {}


def register_tick(name: str, task_path: str, every_s: int = 60) -> None:
    """Have beat send the task every `every_s` seconds. Call it in an app's `ready()`."""
    if name in TICKS:
        raise ValueError(f"tick {name} is registered twice")
    TICKS[name] = TickPlan(name, task_path, every_s)


def ensure_ticks(**_signal: Any) -> None:
    """Make the missing rows of registered ticks; rows that exist stay as an admin left them.

    New ticks are due at once. Ticks of removed code are switched off.
    """
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    if PeriodicTask._meta.db_table not in connection.introspection.table_names():
        return  # one app is being migrated before the scheduler's
    for plan in TICKS.values():
        if PeriodicTask.objects.filter(name=plan.name).exists():
            continue
        every = {"every": plan.every_s, "period": IntervalSchedule.SECONDS}
        same = IntervalSchedule.objects.filter(**every).first()
        interval = same or IntervalSchedule.objects.create(**every)
        PeriodicTask.objects.get_or_create(
            name=plan.name,
            defaults={
                "task": plan.task,
                "interval": interval,
                "description": MARK,
                # A tick nobody took before the next one is due says nothing new.
                "expire_seconds": plan.every_s,
                "last_run_at": timezone.now() - timedelta(seconds=plan.every_s),
            },
        )
    for stale in PeriodicTask.objects.filter(description=MARK, enabled=True).exclude(name__in=TICKS):
        stale.enabled = False
        stale.save()


def ring(task_name: str, *args: str | int) -> None:
    """Send the task once the current transaction commits; rings for the same task and arguments become one.

    Never raises and takes about a second at most when the broker is away: the tick finds the row anyway.
    """
    transaction.on_commit(lambda: _send(task_name, args), robust=True)


_quiet_until = 0.0


def _send(task_name: str, args: tuple[str | int, ...]) -> None:
    global _quiet_until
    if time.monotonic() < _quiet_until:
        return
    key = ring_key(task_name, args)
    try:
        redis = liveness.client()
        if not redis.set(key, "1", nx=True, ex=RING_S):
            return
        try:
            _publish(task_name, args, key)
        except Exception:
            redis.delete(key)
            raise
    except Exception as error:  # noqa: BLE001 - kombu and redis raise many kinds; a lost ring must hurt no caller
        # Callers in a burst must not each wait for a broker that is away.
        _quiet_until = time.monotonic() + QUIET_S
        log.warning("ring_lost", task=task_name, error=f"{type(error).__name__}: {error}")


def _publish(task_name: str, args: tuple[str | int, ...], key: str) -> None:
    from synth.celery import app

    app.send_task(
        task_name,
        args=args,
        headers={"ring": key},
        # One more go replaces a connection that a restarted broker closed.
        retry=True,
        retry_policy={"max_retries": 1, "interval_start": 0, "interval_step": 0},
    )


def ring_key(task_name: str, args: tuple[str | int, ...]) -> str:
    """The Redis key that melts rings together."""
    return f"synth:ring:{task_name}:{json.dumps(args)}"


def answer_ring(task: Any) -> None:
    """Before a rung task looks for rows, let new rings through: it may not see what commits from now on."""
    key = getattr(task.request, "ring", None)
    if not key:
        return
    try:
        liveness.client().delete(key)
    except Exception as error:  # noqa: BLE001 - the mark runs out by itself
        log.warning("ring_not_answered", key=key, error=str(error))


def tick_started(task: Any) -> None:
    """Note that a tick of beat has begun; calls by rings or people say nothing about beat."""
    if (name := _tick_name(task)) is not None:
        from synth.models import Tick

        Tick.objects.update_or_create(name=name, defaults={"started_at": timezone.now()})


def tick_finished(task: Any, error: BaseException | None) -> None:
    """Note how that tick ended."""
    if (name := _tick_name(task)) is not None:
        from synth.models import Tick

        text = "" if error is None else f"{type(error).__name__}: {error}"[:2000]
        Tick.objects.update_or_create(name=name, defaults={"finished_at": timezone.now(), "error": text})


def _tick_name(task: Any) -> str | None:
    name = getattr(task.request, "periodic_task_name", None)
    return name if name in TICKS else None
