"""Doors of the background: the minute tick for deliveries left over, the worker of one channel."""

from __future__ import annotations

from celery import shared_task
from django.utils.timezone import now

from reminders.services import carrying


@shared_task(name="reminders.deliver")
def deliver(channel: str = "") -> None:
    """Carry what waits for one channel; without one, wake a worker for each that has rows due."""
    if channel:
        carrying.drain(channel)
    else:
        carrying.ring_waiting(now())
