"""Growth on record: the settings of an agent, every cycle, every self it had."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from synth.rowqueue.leased import Leased


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


class GrowthRun(Leased):
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
    n_host_failures = models.PositiveSmallIntegerField(default=0)
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


class ProposalKind(models.TextChoices):
    """What a proposal would change."""

    GROWTH = "growth"
    SKILL = "skill"
    SOUL = "soul"


class ProposalStatus(models.TextChoices):
    """Where a proposal stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    STALE = "stale"
    EXPIRED = "expired"


class Proposal(models.Model):
    """A change that waits for a trainer: `pending → approved | rejected | superseded | stale | expired`.

    Text and lists are never edited in place: an edited approval keeps what was applied in `applied`
    (`{content, likes, dislikes}`), a revision is a new row with `revises` and the feedback that led to it.
    `base_state` and `base_hash` (over the current text and the live lists) are what it was written against;
    when either changed, approving makes it stale. `deliveries` are ids of `reminders.Delivery`;
    `delivery_status` is `waiting | sent | failed | nobody`. `decided_by` is a username, or what else ended
    it (`proposal 12`).
    """

    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="proposals")
    kind = models.CharField(max_length=16, choices=ProposalKind, default=ProposalKind.GROWTH)
    status = models.CharField(max_length=16, choices=ProposalStatus, default=ProposalStatus.PENDING)
    run = models.ForeignKey(
        GrowthRun, null=True, blank=True, on_delete=models.SET_NULL, related_name="proposals"
    )
    base_state = models.ForeignKey(
        GrowthState, null=True, blank=True, on_delete=models.SET_NULL, related_name="proposals"
    )
    base_hash = models.CharField(max_length=64)
    base_content = models.TextField(blank=True)
    base_likes = models.JSONField(default=list)
    base_dislikes = models.JSONField(default=list)
    content = models.TextField()
    likes = models.JSONField(default=list)
    dislikes = models.JSONField(default=list)
    evidence = models.JSONField(default=list)
    content_hash = models.CharField(max_length=64)
    is_ungrounded = models.BooleanField(default=False)
    writer = models.CharField(max_length=16, blank=True)
    revises = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="revisions"
    )
    feedback = models.TextField(blank=True)
    applied = models.JSONField(null=True, blank=True)
    state = models.ForeignKey(GrowthState, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    deliveries = models.JSONField(default=list)
    delivery_status = models.CharField(max_length=16, default="waiting")
    delivery_error = models.TextField(blank=True)
    decided_by = models.CharField(max_length=200, blank=True)
    decided_door = models.CharField(max_length=16, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "kind"], condition=Q(status="pending"), name="growth_proposal_one_pending"
            )
        ]
        indexes = [
            models.Index(fields=["agent", "created_at", "id"], name="growth_proposal_by_agent"),
            models.Index(
                fields=["created_at"], condition=Q(status="pending"), name="growth_proposal_pending"
            ),
            models.Index(fields=["expires_at"], condition=Q(status="pending"), name="growth_proposal_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} proposal {self.pk}: {self.status}"


class Revision(Leased):
    """A trainer's wish to rewrite a proposal: `queued → running → done | failed`; a worker does the call.

    A claim makes it running (again, after a crash); host trouble puts `running → queued` with a later
    `due_at`.
    `result` is the proposal that came of it; on failure the old one stays pending and `reason` says why.
    """

    class Status(models.TextChoices):
        """Where the rewriting is."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="revision_requests")
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    feedback = models.TextField()
    asked_by = models.ForeignKey("synth.Person", null=True, on_delete=models.SET_NULL, related_name="+")
    door = models.CharField(max_length=16)
    reason = models.CharField(max_length=64, blank=True)
    detail = models.TextField(blank=True)
    guards = models.JSONField(default=list)
    n_calls = models.PositiveSmallIntegerField(default=0)
    n_host_failures = models.PositiveSmallIntegerField(default=0)
    result = models.ForeignKey(Proposal, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["proposal"],
                condition=Q(status__in=["queued", "running"]),
                name="growth_revision_one_open",
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(status__in=["queued", "running"]), name="growth_revision_due"
            )
        ]

    def __str__(self) -> str:
        return f"revision {self.pk} of {self.proposal_id}: {self.status}"
