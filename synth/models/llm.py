"""What was sent to language models and what came back."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.timezone import now


class PromptPart(models.Model):
    """A piece of prompt text, stored once. A deep forget leaves `[removed]` and sets `is_removed`."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    text = models.TextField()
    is_removed = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.sha256[:12]


class LlmCall(models.Model):
    """One call to a language model, whatever came of it.

    `outcome` is `ok` or a reason of `synth.llm.reasons`. `session` binds it to its work (`cycle:12`,
    `dialogue:<id>`). `journal_key` lets work resumed after a crash find the reply it already paid for.
    `fingerprint` names the prompt layers that were in it. `tool_calls` is what the model asked for:
    `[{id, name, arguments}]`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    at = models.DateTimeField(default=now)
    agent = models.ForeignKey("synth.Agent", null=True, on_delete=models.CASCADE, related_name="llm_calls")
    purpose = models.CharField(max_length=32)
    session = models.CharField(max_length=100, blank=True)
    journal_key = models.CharField(max_length=150, blank=True)
    backend = models.CharField(max_length=16)
    host = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    messages_sha256 = models.CharField(max_length=64, blank=True)
    trace_id = models.CharField(max_length=100, blank=True)
    n_prompt_tokens = models.PositiveIntegerField(null=True)
    n_completion_tokens = models.PositiveIntegerField(null=True)
    ms = models.PositiveIntegerField(default=0)
    finish_reason = models.CharField(max_length=32, blank=True)
    outcome = models.CharField(max_length=32)
    error = models.TextField(blank=True)
    response_text = models.TextField(blank=True)
    tool_calls = models.JSONField(default=list, blank=True)
    parts: models.ManyToManyField[PromptPart, LlmCallPart] = models.ManyToManyField(
        PromptPart, through="LlmCallPart", related_name="calls"
    )

    class Meta:
        verbose_name = "language model call"
        indexes = [
            models.Index(fields=["at", "id"], name="synth_llmcall_by_at"),
            models.Index(fields=["agent", "purpose", "at"], name="synth_llmcall_by_agent"),
            models.Index(fields=["session"], name="synth_llmcall_by_session"),
            models.Index(
                fields=["journal_key"], condition=~models.Q(journal_key=""), name="synth_llmcall_by_journal"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.at:%Y-%m-%d %H:%M} {self.outcome}"


class LlmCallPart(models.Model):
    """The parts of a call in order. `layer` is the prompt layer's name; `role` the message it was sent in."""

    call = models.ForeignKey(LlmCall, on_delete=models.CASCADE, related_name="call_parts")
    position = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=16)
    layer = models.CharField(max_length=64, blank=True)
    part = models.ForeignKey(PromptPart, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["call", "position"], name="synth_llmcallpart_order")]

    def __str__(self) -> str:
        return f"{self.call_id}[{self.position}]"
