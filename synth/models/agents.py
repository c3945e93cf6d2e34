"""Agents: who they are, who trains them, where they live."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.timezone import now


class Agent(models.Model):
    """An AI agent with an inner life.

    `persona` is the editable background text, `founding_persona` its first value, never rewritten. `likes`
    and `dislikes` are the live lists (the only home of both). `model_overrides` names a model per purpose:
    `chat`, `grillo` (background work), `judge`.
    """

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=100)
    persona = models.TextField(blank=True)
    founding_persona = models.TextField(blank=True, editable=False)
    likes = models.JSONField(default=list, blank=True)
    dislikes = models.JSONField(default=list, blank=True)
    timezone = models.CharField(max_length=64, default="UTC")
    language = models.CharField(max_length=16, default="en")
    trainers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="trained_agents", blank=True)
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="reserved_agents", blank=True)
    interface_path = models.CharField(max_length=200, blank=True)
    model_overrides = models.JSONField(default=dict, blank=True)
    local_only = models.BooleanField(
        default=False, help_text="Refuse language models and judgment hosts elsewhere"
    )
    daily_token_cap = models.PositiveIntegerField(
        null=True, blank=True, help_text="null: the server's; 0: none"
    )
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug
