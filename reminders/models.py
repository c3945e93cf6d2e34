"""What is on its way to a person or an address, and what became of it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from synth.rowqueue.leased import Leased


class DeliveryKind(models.TextChoices):
    """What a delivery is about."""

    REMINDER = "reminder"
    PROACTIVE = "proactive"
    PROPOSAL = "proposal"
    GIFT = "gift"
    SYSTEM = "system"


class DeliveryStatus(models.TextChoices):
    """How far a delivery came."""

    QUEUED = "queued"
    SENT = "sent"
    SEEN = "seen"
    ACTED = "acted"
    DISMISSED = "dismissed"
    EXPIRED = "expired"
    FAILED = "failed"


class InboxCounter(models.Model):
    """The last sequence number of a person's inbox; locked last in the transaction that takes the next one."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)
    seq = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.person_id}: {self.seq}"


class Delivery(Leased):
    """One message to one person's inbox or to one address.

    Moves: `queued → sent → seen → acted | dismissed`, `queued → failed` when the tries are used up,
    `queued | sent → expired`. Sent means that the channel confirmed it. `seq` counts without gaps per person and is
    null for an address that is no inbox. `results` lists every try: `{at, channel, is_ok, detail}`.
    `dedupe_key` makes sending safe to repeat.
    """

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    interface_path = models.CharField(max_length=500)
    seq = models.PositiveBigIntegerField(null=True, blank=True)
    kind = models.CharField(max_length=16, choices=DeliveryKind)
    title = models.CharField(max_length=200)
    body = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    results = models.JSONField(default=list, blank=True)
    status = models.CharField(max_length=16, choices=DeliveryStatus, default=DeliveryStatus.QUEUED)
    n_failures = models.PositiveSmallIntegerField(default=0)
    dedupe_key = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(default=now)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["person", "seq"], condition=Q(seq__isnull=False), name="reminders_delivery_seq_once"
            ),
            models.UniqueConstraint(
                fields=["dedupe_key"], condition=~Q(dedupe_key=""), name="reminders_delivery_key_once"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status="queued"), name="reminders_delivery_due"),
            models.Index(fields=["at", "id"], name="reminders_delivery_by_at"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.interface_path}: {self.status}"
