"""Actions that wait for a person's word, and what persons allowed for longer."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.timezone import now


class ApprovalStatus(models.TextChoices):
    """What became of the question."""

    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Approval(models.Model):
    """One action of one turn that needs a person.

    Moves: `pending → allowed | denied` by a person, a grant or the judge; `pending → expired` at
    `expires_at`; `pending → withdrawn` when its turn ends otherwise. `scopes` lists what may be allowed for
    longer, narrowest first: `[{"key", "text"}]`; `decision` is `allow_once | allow_session | allow_always |
    deny`, `decided_by` null where nobody had to be asked (`decided_door` then says `grant` or `judge`).
    `judgment_run` names the run of `approvals.allow`, `gates` what was weighed beside it. `diff` shows what
    would change, `reason` why it is asked at all.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="approvals")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="approvals")
    dialogue = models.ForeignKey("synth.Dialogue", on_delete=models.CASCADE, related_name="approvals")
    answer = models.ForeignKey("synth.Message", on_delete=models.CASCADE, related_name="approvals")
    call_id = models.CharField(max_length=100)
    action = models.CharField(max_length=64)
    arguments = models.JSONField(default=dict, blank=True)
    diff = models.TextField(blank=True)
    reason = models.CharField(max_length=200, blank=True)
    scopes = models.JSONField(default=list, blank=True)
    status = models.CharField(max_length=16, choices=ApprovalStatus, default=ApprovalStatus.PENDING)
    decision = models.CharField(max_length=16, blank=True)
    scope_key = models.CharField(max_length=300, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_door = models.CharField(max_length=16, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    judgment_run = models.CharField(max_length=200, blank=True)
    gates = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [models.UniqueConstraint(fields=["answer", "call_id"], name="synth_approval_once")]
        indexes = [
            models.Index(fields=["person", "at", "id"], name="synth_approval_by_person"),
            models.Index(fields=["agent", "at", "id"], name="synth_approval_by_agent"),
            models.Index(fields=["expires_at"], condition=Q(status="pending"), name="synth_approval_open"),
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.status}"


class ApprovalGrant(models.Model):
    """What a person allowed for longer: exactly `key`, for one dialogue or (null) for all with this agent.

    Keys are compared whole, never as patterns or beginnings.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants")
    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="grants")
    dialogue = models.ForeignKey(
        "synth.Dialogue", null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    key = models.CharField(max_length=300)
    text = models.CharField(max_length=300, blank=True)
    approval = models.ForeignKey(Approval, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(default=now)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["person", "agent", "dialogue", "key"],
                condition=Q(revoked_at=None),
                name="synth_approvalgrant_once",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return self.key
