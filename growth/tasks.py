"""Doors of the background: minute ticks for due weeks and old proposals, workers for cycles and revisions."""

from __future__ import annotations

from celery import shared_task
from django.utils.timezone import now

from growth.services import clock, cycle, proposals


@shared_task(name="growth.start_due")
def start_due() -> None:
    """Queue what is due and wake the worker for every waiting row; safe to knock twice."""
    clock.start_due(now())
    cycle.ring_if_waiting(now())


@shared_task(name="growth.run_cycles")
def run_cycles() -> None:
    """Run queued cycles, and those a dead worker left, until none is waiting."""
    cycle.run_waiting()


@shared_task(name="growth.tend_proposals")
def tend_proposals() -> None:
    """End proposals that ran out and wake the worker for every waiting revision; safe to knock twice."""
    proposals.expire_due(now())
    proposals.ring_if_waiting(now())


@shared_task(name="growth.run_revisions")
def run_revisions() -> None:
    """Work on the revisions trainers asked for, and those a dead worker left, until none is waiting."""
    proposals.revise_waiting()
