"""Changes that wait for a trainer, and wishes to have them rewritten."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from growth.models.runs import GrowthRun
from growth.models.states import GrowthState
from synth.rowqueue.leased import Tried


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


class DeliveryState(models.TextChoices):
    """Whether a trainer was reached with a proposal.

    Moves: `waiting → sent | failed`: one delivery that arrived is enough, failed means all of them did.
    `failed → sent` when one arrives after all; `failed | nobody → waiting` when a trainer has it sent again.
    An address that cannot be used makes it failed at birth; `nobody` has neither address nor trainer.
    """

    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"
    NOBODY = "nobody"


class Proposal(models.Model):
    """A change that waits for a trainer: `pending → approved | rejected | superseded | stale | expired`.

    Text and lists are never edited in place: an edited approval keeps what was applied in `applied`
    (`{content, likes, dislikes}`), a revision is a new row with `revises` and the feedback that led to it.
    `base_state` and `base_hash` (over the current text and the live lists) are what it was written against;
    when either changed, approving makes it stale. `decided_by` is a username, or what else ended it
    (`proposal 12`). `deliveries` are ids of `reminders.Delivery`; `delivery_status` sums them up.
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
    delivery_status = models.CharField(max_length=16, choices=DeliveryState, default=DeliveryState.WAITING)
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


class Revision(Tried):
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
