"""Events that happened, and one row for each handler that must hear of them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from synth.rowqueue.leased import Leased


class OutboxEvent(models.Model):
    """A fact, past tense (`app.noun_verbed`), saved in the transaction that made it true."""

    name = models.CharField(max_length=100)
    payload = models.JSONField(default=dict)
    at = models.DateTimeField(default=now)

    class Meta:
        indexes = [models.Index(fields=["at", "id"], name="synth_outbox_by_at")]

    def __str__(self) -> str:
        return f"{self.name} {self.pk}"


class HandlingStatus(models.TextChoices):
    """What became of one event at one handler."""

    WAITING = "waiting"
    HANDLED = "handled"
    PARKED = "parked"


class EventHandling(Leased):
    """One event at one handler: `waiting → handled`, or `waiting → parked` after 8 tries; an operator's retry
    moves `parked → waiting`. The move to handled is in the transaction of the handler's own work.
    """

    event = models.ForeignKey(OutboxEvent, on_delete=models.CASCADE, related_name="handlings")
    handler = models.CharField(max_length=100)
    status = models.CharField(max_length=16, choices=HandlingStatus, default=HandlingStatus.WAITING)
    n_failures = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    handled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["event", "handler"], name="synth_handling_once")]
        indexes = [
            models.Index(
                fields=["handler", "due_at", "id"], condition=Q(status="waiting"), name="synth_handling_due"
            ),
            models.Index(
                fields=["handler", "lease_until"],
                condition=Q(status="waiting", lease_until__isnull=False),
                name="synth_handling_leased",
            ),
            models.Index(fields=["id"], condition=Q(status="parked"), name="synth_handling_parked"),
        ]

    def __str__(self) -> str:
        return f"{self.handler} ← {self.event_id} ({self.status})"
