"""What belongs to this install as a whole: its epoch, its ticks, its replayable answers."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.timezone import now


class Install(models.Model):
    """The one row of this install. `epoch` names the line of stream ids: new after a restore."""

    epoch = models.UUIDField(default=uuid.uuid4)
    created_at = models.DateTimeField(default=now)
    demo_seeded_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return str(self.epoch)


class Tick(models.Model):
    """The last time a background tick ran, so that a silent beat or worker is seen."""

    name = models.CharField(max_length=100, primary_key=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.name


class IdempotentAnswer(models.Model):
    """The answer a POST with an Idempotency-Key got, saved in the transaction of its effect."""

    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(null=True)
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["actor", "key"], name="synth_idempotent_once")]
        indexes = [models.Index(fields=["at"], name="synth_idempotent_by_at")]

    def __str__(self) -> str:
        return self.key
