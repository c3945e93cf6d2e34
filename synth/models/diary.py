"""The diary: what an agent lived through."""

from __future__ import annotations

from django.db import models
from django.utils.timezone import now


class DiarySource(models.TextChoices):
    """Who or what an entry comes from; `recalled` and `system` are no evidence for a reflection."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    RECALLED = "recalled"
    SYSTEM = "system"


class DiaryEntry(models.Model):
    """One moment of an agent's life, written once. `people` and `tags` are lists of text."""

    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="diary")
    at = models.DateTimeField()
    content = models.TextField()
    source = models.CharField(max_length=16, choices=DiarySource, default=DiarySource.AGENT)
    people = models.JSONField(default=list, blank=True)
    tags = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "diary entries"
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["agent", "at", "id"], name="synth_diary_by_agent_at")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d} {self.content[:60]}"
