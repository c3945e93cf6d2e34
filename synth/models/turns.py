"""What a running turn needs beside its messages: who started it, where its loop stands, whether to stop."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.timezone import now

from synth.rowqueue.leased import Tried


class TurnState(models.Model):
    """One turn that is not over; deleted with its end. The answer's row carries status and lease.

    `client` is what an outside client sent along: `{system, tools, tool_choice, temperature, max_tokens}`.
    `loop` is where the loop stands between an approval and its decision. `check_in` is the card of a long
    turn. `stop_reason`: `stopped` by a person, `left` by every viewer, `client_gone` for one client's turn.
    """

    answer = models.OneToOneField(
        "synth.Message", primary_key=True, on_delete=models.CASCADE, related_name="turn"
    )
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    door = models.CharField(max_length=16, default="chat")
    may_train = models.BooleanField(default=False)
    is_operator = models.BooleanField(default=False)
    is_retake = models.BooleanField(default=False)
    opener_lines = models.TextField(blank=True)
    client = models.JSONField(default=dict, blank=True)
    loop = models.JSONField(default=dict, blank=True)
    check_in = models.JSONField(default=dict, blank=True)
    stop_reason = models.CharField(max_length=16, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return f"turn of message {self.answer_id}"


class ClientThread(models.Model):
    """Where the history that an outside client sends is kept here.

    `prefix_sha256` names the messages a client will send before its next one, as this server saw and
    answered them; `leaf` is the message they end with. One row per key (null: a browser session), person,
    agent and prefix.
    """

    key = models.ForeignKey("synth.ApiKey", null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    agent = models.ForeignKey("synth.Agent", on_delete=models.CASCADE, related_name="+")
    prefix_sha256 = models.CharField(max_length=64)
    dialogue = models.ForeignKey("synth.Dialogue", on_delete=models.CASCADE, related_name="+")
    leaf = models.ForeignKey("synth.Message", on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "person", "agent", "prefix_sha256"],
                name="synth_clientthread_once",
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["at"], name="synth_clientthread_by_at")]

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.prefix_sha256[:12]}"


class SittingStatus(models.TextChoices):
    """How far the summary of a sitting is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


class Sitting(Tried):
    """One sitting of a dialogue that ended (30 minutes idle, or archived), to be kept in the diary.

    Moves: `queued → running → done | skipped | failed`; `running → queued` when the model's host is in
    trouble. `since` is exclusive (null: from the beginning), `until` the last activity it covers; one row
    per dialogue and `until`. `entry` is the diary entry written, `reason` why there is none.
    """

    dialogue = models.ForeignKey("synth.Dialogue", on_delete=models.CASCADE, related_name="sittings")
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField()
    status = models.CharField(max_length=16, choices=SittingStatus, default=SittingStatus.QUEUED)
    reason = models.CharField(max_length=64, blank=True)
    detail = models.TextField(blank=True)
    entry = models.ForeignKey(
        "synth.DiaryEntry", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [models.UniqueConstraint(fields=["dialogue", "until"], name="synth_sitting_once")]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(status__in=["queued", "running"]),
                name="synth_sitting_due",
            )
        ]

    def __str__(self) -> str:
        return f"sitting {self.pk}: {self.status}"
