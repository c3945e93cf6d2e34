"""Every table that works as a queue, by name, so that health and metrics can tell how long rows wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.apps import apps
from django.db.models import Count, Min, Q

from synth.rowqueue import leases


@dataclass(frozen=True)
class Queue:
    """A leased model and the condition on the rows that still wait for work."""

    name: str
    model: str
    waiting: Q


@dataclass(frozen=True)
class Depth:
    """How a queue stands: rows in all, due and unclaimed, worked on; age of the oldest due one."""

    name: str
    n_waiting: int
    n_due: int
    n_leased: int
    oldest_s: float


QUEUES: dict[str, Queue] = {}


def register_queue(name: str, model: str, waiting: Q) -> None:
    """Watch a queue. `model` is `app.Model`; `waiting` needs an index. Call it in an app's `ready()`."""
    if name in QUEUES:
        raise ValueError(f"queue {name} is registered twice")
    QUEUES[name] = Queue(name, model, waiting)


def depths(at: datetime) -> list[Depth]:
    """How every queue stands at `at`; one query each."""
    return [_depth(queue, at) for queue in QUEUES.values()]


def _depth(queue: Queue, at: datetime) -> Depth:
    found = (
        apps.get_model(queue.model)
        ._base_manager.filter(queue.waiting)
        .aggregate(
            n_waiting=Count("pk"),
            n_due=Count("pk", filter=leases.due(at)),
            n_leased=Count("pk", filter=Q(lease_until__gt=at)),
            oldest=Min("due_at", filter=leases.due(at)),
        )
    )
    oldest_s = (at - found["oldest"]).total_seconds() if found["oldest"] else 0.0
    return Depth(queue.name, found["n_waiting"], found["n_due"], found["n_leased"], oldest_s)
