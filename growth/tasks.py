"""Doors of the background: the minute tick that queues due weeks, the worker that runs queued cycles."""

from __future__ import annotations

from celery import shared_task
from django.utils.timezone import now

from growth.services import clock, cycle


@shared_task(name="growth.start_due")
def start_due() -> None:
    """Queue what is due and wake the worker for every waiting row; safe to knock twice."""
    clock.start_due(now())
    cycle.ring_if_waiting(now())


@shared_task(name="growth.run_cycles", queue="llm")
def run_cycles() -> None:
    """Run queued cycles, and those a dead worker left, until none is waiting."""
    cycle.run_waiting()
