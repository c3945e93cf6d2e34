"""Who changed or tried to change what, through which door."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.timezone import now


class Door(models.TextChoices):
    """Where a change came in."""

    ADMIN = "admin"
    REST = "rest"
    CHAT = "chat"
    COMMAND = "command"
    TASK = "task"


class AuditEntry(models.Model):
    """One change or refused try, never edited. `object` is `app.model:id`, `outcome` `done` or `refused`."""

    at = models.DateTimeField(default=now)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor_label = models.CharField(max_length=200, help_text="username, or the worker's task")
    door = models.CharField(max_length=16, choices=Door)
    action = models.CharField(max_length=64)
    object = models.CharField(max_length=150)
    agent = models.ForeignKey("synth.Agent", null=True, on_delete=models.SET_NULL, related_name="+")
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    outcome = models.CharField(max_length=16, default="done")
    reason = models.TextField(blank=True)
    trace_id = models.CharField(max_length=100, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["at", "id"], name="synth_audit_by_at"),
            models.Index(fields=["object"], name="synth_audit_by_object"),
            models.Index(fields=["agent", "at"], name="synth_audit_by_agent"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor_label} {self.action} {self.outcome}"
