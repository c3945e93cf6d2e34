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
    """The last sequence number of a person's inbox; locked last in the transaction that takes the next one.

    That transaction is the inbox channel's own, never the sender's, so senders cannot deadlock over it.
    """

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)
    seq = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.person_id}: {self.seq}"


class Delivery(Leased):
    """One message to one person's inbox or to one address.

    Moves: `queued → sent → seen → acted | dismissed`, also `sent → acted | dismissed`; `queued → failed` when
    the tries are used up, and an operator's retry moves `failed → queued`; `queued | sent | seen → expired`.
    Sent means that the channel confirmed it. `seq` counts without gaps per person; it is taken when an inbox
    delivery is sent, and stays null for an address that is no inbox. `results` lists the tries:
    `{at, is_ok, detail}`. `moved_at` is when the status last moved. `dedupe_key` makes sending safe to
    repeat.
    """

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    channel = models.CharField(max_length=16)
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
    moved_at = models.DateTimeField(default=now)

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
            models.Index(
                fields=["channel", "due_at"], condition=Q(status="queued"), name="reminders_delivery_due"
            ),
            models.Index(
                fields=["channel", "lease_until"],
                condition=Q(status="queued", lease_until__isnull=False),
                name="reminders_delivery_leased",
            ),
            models.Index(fields=["at", "id"], condition=Q(status="failed"), name="reminders_delivery_failed"),
            models.Index(fields=["at", "id"], name="reminders_delivery_by_at"),
        ]

    def __str__(self) -> str:
        # Without the address: a webhook's may hold a secret, and this text reaches log lines.
        return f"{self.kind} {self.pk} by {self.channel}: {self.status}"


class RemoteHost(models.Model):
    """A host that failed lately: after five failures in a row it is left alone until `shut_until`."""

    name = models.CharField(max_length=300, primary_key=True)
    n_failures = models.PositiveIntegerField(default=0)
    shut_until = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name}: {self.n_failures}"
