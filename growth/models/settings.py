"""When and how an agent reflects."""

from __future__ import annotations

from django.db import models


class Mode(models.TextChoices):
    """What a finished cycle does with the new self."""

    OFF = "off"
    ON = "on"
    REQUEST = "request"


class GrowthSettings(models.Model):
    """An agent's growth settings. The environment wins over a field (`growth.options` names the variables).

    `next_cycle_at` is derived (indexed, recomputed when what it depends on changes); null while mode is off.
    """

    agent = models.OneToOneField("synth.Agent", on_delete=models.CASCADE, related_name="growth_settings")
    mode = models.CharField(max_length=16, choices=Mode, default=Mode.ON)
    weekly_day = models.CharField(max_length=16, default="Sunday")
    weekly_time = models.CharField(max_length=5, default="03:00")
    request_interface_path = models.CharField(max_length=200, blank=True)
    trainer_chat_id = models.CharField(max_length=200, blank=True)
    diary_days = models.PositiveSmallIntegerField(default=7)
    memory_limit = models.PositiveSmallIntegerField(default=8)
    proposal_ttl_days = models.PositiveSmallIntegerField(default=14)
    next_cycle_at = models.DateTimeField(null=True, blank=True, editable=False)
    next_cycle_on = models.DateField(null=True, blank=True, editable=False, help_text="intended local date")

    class Meta:
        verbose_name_plural = "growth settings"
        indexes = [models.Index(fields=["next_cycle_at"], name="growth_settings_due")]

    def __str__(self) -> str:
        return f"growth of {self.agent}"
