"""Every cycle of an agent."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from growth.models.states import GrowthState
from synth.rowqueue.leased import Tried


class Trigger(models.TextChoices):
    """What asked for a cycle."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    ACTION = "action"


class RunStatus(models.TextChoices):
    """Where a cycle is, or how it ended."""

    QUEUED = "queued"
    RUNNING = "running"
    APPLIED = "applied"
    PROPOSED = "proposed"
    DRY_RUN = "dry_run"
    SKIPPED = "skipped"
    FAILED = "failed"
    MISSED = "missed"
    UNDELIVERED = "undelivered"


OPEN_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING)


class GrowthRun(Tried):
    """One cycle of an agent.

    Moves: `queued → running → applied | proposed | dry_run | skipped | failed | undelivered`; a claim makes
    it running (again, after a crash), host trouble puts `running → queued` with a later `due_at`; `missed` is
    born so. Once every delivery of its proposal failed, `proposed → undelivered`; one that arrives after all
    moves `undelivered → proposed`. At most one open run per agent, one scheduled run per agent and ISO week
    of the intended local date (`week`, for example `2026-W48`). `guards` lists every verdict in order;
    `result` is what the cycle wrote: `{self_growth, likes, dislikes, evidence, ungrounded, warnings}`.
    """

    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="growth_runs")
    trigger = models.CharField(max_length=16, choices=Trigger)
    status = models.CharField(max_length=16, choices=RunStatus, default=RunStatus.QUEUED)
    reason = models.CharField(max_length=64, blank=True)
    detail = models.TextField(blank=True)
    intended_on = models.DateField(null=True, blank=True)
    week = models.CharField(max_length=8, blank=True)
    is_dry_run = models.BooleanField(default=False)
    is_forced = models.BooleanField(default=False)
    mode = models.CharField(max_length=16, blank=True, help_text="the mode this cycle ended under")
    writer = models.CharField(max_length=16, blank=True, help_text="`model` or `composer`")
    created_by = models.CharField(max_length=200)
    n_diary = models.PositiveIntegerField(default=0)
    n_diary_left_out = models.PositiveIntegerField(default=0)
    n_memories = models.PositiveIntegerField(default=0)
    n_calls = models.PositiveSmallIntegerField(default=0)
    window_start_on = models.DateField(null=True, blank=True)
    window_end_on = models.DateField(null=True, blank=True)
    guards = models.JSONField(default=list)
    result = models.JSONField(null=True, blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    state = models.ForeignKey(
        GrowthState, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs"
    )
    created_at = models.DateTimeField(default=now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["agent"], condition=Q(status__in=["queued", "running"]), name="growth_run_one_open"
            ),
            models.UniqueConstraint(
                fields=["agent", "week"], condition=Q(trigger="scheduled"), name="growth_run_once_a_week"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(status__in=["queued", "running"]), name="growth_run_due"
            ),
            models.Index(fields=["agent", "created_at", "id"], name="growth_run_by_agent"),
        ]

    def __str__(self) -> str:
        return f"reflection {self.pk} of {self.agent}: {self.status}"
