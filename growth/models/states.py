"""Every self an agent had."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.timezone import now


class StateSource(models.TextChoices):
    """How a self came to be."""

    WEEKLY = "weekly"
    APPROVED = "approved"
    MANUAL = "manual"
    REVERT = "revert"


class GrowthState(models.Model):
    """One self-growth text with the lists that were live with it. Exactly one is current per agent; the
    newest ten are kept. Rows are never edited: a revert is a new row.

    `evidence` is `[{sentence, quote, diary_ids}]`; `content_hash` covers text and lists.
    """

    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="growth_states")
    content = models.TextField(blank=True)
    likes = models.JSONField(default=list)
    dislikes = models.JSONField(default=list)
    created_by = models.CharField(max_length=200)
    source = models.CharField(max_length=16, choices=StateSource)
    is_current = models.BooleanField(default=False)
    evidence = models.JSONField(default=list)
    content_hash = models.CharField(max_length=64)
    is_ungrounded = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["agent"], condition=Q(is_current=True), name="growth_state_one_current"
            )
        ]
        indexes = [models.Index(fields=["agent", "created_at", "id"], name="growth_state_by_agent")]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d} {self.content[:60]}"
