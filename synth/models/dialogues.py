"""Dialogues: trees of messages between a person and an agent."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from synth.rowqueue.leased import Leased


class ToolkitOrigin(models.TextChoices):
    """How a dialogue came to its toolkit; only `default` ones are suggested another."""

    DEFAULT = "default"
    CHOSEN = "chosen"
    INHERITED = "inherited"
    SUGGESTED = "suggested"


class Dialogue(models.Model):
    """One conversation. `active_leaf` is the end of the branch a client shows; `at` the last activity.

    A scratch dialogue leaves nothing in diary, memory or judgment runs. `toolkit` names the set of actions
    its agent is offered. Retention counts from `at` or from `unarchived_at`, whichever is later.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="dialogues")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="dialogues")
    title = models.CharField(max_length=200, blank=True)
    is_scratch = models.BooleanField(default=False)
    active_leaf = models.ForeignKey(
        "synth.Message", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    toolkit = models.CharField(max_length=64, default="default")
    toolkit_origin = models.CharField(max_length=16, choices=ToolkitOrigin, default=ToolkitOrigin.DEFAULT)
    metadata = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(default=now)
    created_at = models.DateTimeField(default=now)
    archived_at = models.DateTimeField(null=True, blank=True)
    unarchived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["person", "at", "id"], name="synth_dialogue_by_person"),
            models.Index(fields=["at", "id"], name="synth_dialogue_by_at"),
            models.Index(fields=["at", "id"], condition=Q(is_scratch=True), name="synth_dialogue_scratch"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class MessageRole(models.TextChoices):
    """Who speaks; `proactive` is an agent's message that answers no question."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    PROACTIVE = "proactive"


class MessageStatus(models.TextChoices):
    """Where a message is: written at once, or while a model answers."""

    STREAMING = "streaming"
    COMPLETE = "complete"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Message(Leased):
    """One node of the tree: `streaming → complete | cancelled | failed`; most are born complete.

    A streaming message without a lease waits for a worker from `due_at` on: until it is begun, and again
    while a person is asked for an approval (then `due_at` is when that runs out). A leased one is being
    written, its content saved every few seconds; when the lease runs out it is settled as failed.
    `fingerprint` names the prompt of an answer. At most one answer streams in a dialogue. `dedupe_key` makes
    saving safe to repeat: `post:<Idempotency-Key>` of a person's message, or of an answer that was asked for
    anew, `node:<key>` of a proactive one.
    """

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="messages")
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="children"
    )
    role = models.CharField(max_length=16, choices=MessageRole)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    content = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=16, choices=MessageStatus, default=MessageStatus.COMPLETE)
    fingerprint = models.CharField(max_length=64, blank=True)
    dedupe_key = models.CharField(max_length=220, blank=True)
    at = models.DateTimeField(default=now)
    due_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["at", "id"]
        indexes = [
            models.Index(fields=["dialogue", "at", "id"], name="synth_message_by_dialogue"),
            models.Index(
                fields=["lease_until"], condition=Q(status="streaming"), name="synth_message_streaming"
            ),
            # Search looks for pieces of words; what is still being written changes too often for an index.
            GinIndex(
                fields=["content"],
                opclasses=["gin_trgm_ops"],
                condition=~Q(status="streaming") & Q(role__in=["user", "assistant", "proactive"]),
                name="synth_message_words",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue"], condition=Q(status="streaming"), name="synth_message_one_answer"
            ),
            models.UniqueConstraint(
                fields=["dialogue", "dedupe_key"],
                condition=~Q(dedupe_key=""),
                name="synth_message_key_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.content[:60]}"
