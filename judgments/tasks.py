"""Doors of the background: asks that wait, and letting go of old runs; safe to knock twice."""

from __future__ import annotations

from celery import shared_task
from django.utils.timezone import now

from judgments.services import later, retention
from synth.rowqueue.deadline import Deadline


@shared_task(name="judgments.run_later")
def run_later() -> None:
    """Ask what waits, and what a dead worker left, for at most ten minutes."""
    deadline = Deadline(600)
    later.run_waiting(deadline)
    if deadline.is_over:
        later.ring_if_waiting(now())


@shared_task(name="judgments.tend_later")
def tend_later() -> None:
    """Each minute: wake a worker for every ask that waits."""
    later.ring_if_waiting(now())


@shared_task(name="judgments.let_go")
def let_go() -> None:
    """Each hour: delete runs that are too old or too many, in chunks, for at most 50 s."""
    retention.sweep(now(), Deadline(50))
