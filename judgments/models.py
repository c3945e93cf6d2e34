"""Judgments on record: settings, versions of questions, every ask, and what people said of it later."""

from __future__ import annotations

import uuid

from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from judgments.fields import OrderedJSON
from synth.rowqueue.leased import Leased


class Mode(models.TextChoices):
    """Whether a judgment is asked, and whether its callers may act on it."""

    OFF = "off"
    AUDIT = "audit"
    ON = "on"


class JudgmentSetting(models.Model):
    """The settings of one declared judgment; a missing row is mode off, default host and model."""

    name = models.CharField(max_length=150, primary_key=True)
    mode = models.CharField(max_length=8, choices=Mode, default=Mode.OFF)
    host = models.CharField(
        max_length=300, blank=True, help_text="base address, or `local`; blank: the default"
    )
    model = models.CharField(max_length=150, blank=True)
    n_orders = models.PositiveSmallIntegerField(
        "option orders",
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(8)],
        help_text="choices are asked in so many orders of their options and averaged; `local` needs one",
    )
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name


class JudgmentVersion(models.Model):
    """One wording of a judgment: its questions, known by the digests of instructions and criteria.

    Over 64 KiB they are kept cut, each marked `truncated`; the digests are of the whole.
    """

    judgment = models.CharField(max_length=150)
    instructions_digest = models.CharField(max_length=64)
    criteria_digest = models.CharField(max_length=64)
    questions = OrderedJSON(help_text="id → question, in order")
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judgment", "instructions_digest", "criteria_digest"], name="judgments_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.judgment} {self.instructions_digest[:8]}/{self.criteria_digest[:8]}"


class Origin(models.TextChoices):
    """Who asked: one of our apps, a client of our server, or a replay."""

    LIVE = "live"
    SERVED = "served"
    REPLAY = "replay"


class Run(models.Model):
    """One ask, written once; its public id is `<judgment>/<id>`.

    `state` is what was sent, cut as text over 16 KiB; long answers and wordings are kept cut too
    (`services.cutting`). `is_truncated` where any of them was. `failure` is one word of the
    client's table, `skipped` the reason an ask was not sent. `chain_link` names another run, `quotes` the ids
    of runs whose words the state repeats: a purge follows them.
    `positive` and `negative` are the label values that meant right and wrong when it was asked.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    judgment = models.CharField(max_length=150)
    version = models.ForeignKey(JudgmentVersion, on_delete=models.PROTECT, related_name="runs")
    at = models.DateTimeField(default=now)
    day = models.DateField()
    state = OrderedJSON()
    is_truncated = models.BooleanField(default=False)
    is_asked = models.BooleanField(default=True)
    skipped = models.CharField(max_length=32, blank=True)
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.LIVE)
    mode = models.CharField(max_length=8)
    host = models.CharField(max_length=300, blank=True)
    model = models.CharField(max_length=150, blank=True)
    served_model = models.CharField(max_length=200, blank=True)
    answers = models.JSONField(null=True, blank=True)
    usage = models.JSONField(null=True, blank=True)
    failure = models.CharField(max_length=16, blank=True)
    failure_text = models.CharField(max_length=200, blank=True)
    latency_ms = models.FloatField(null=True, blank=True)
    session_id = models.CharField(max_length=200, blank=True)
    session_model = models.CharField(max_length=200, blank=True)
    chain_link = models.CharField(max_length=200, blank=True)
    quotes = models.JSONField(default=list, blank=True)
    api_key = models.ForeignKey(
        "synth.ApiKey", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    agent = models.ForeignKey(
        "synth.Agent", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    is_test = models.BooleanField(default=False)
    positive = models.JSONField(default=list, blank=True)
    negative = models.JSONField(default=list, blank=True)
    n_labels = models.PositiveIntegerField(default=0)
    n_bytes = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = "judgment run"
        indexes = [
            models.Index(fields=["judgment", "at", "id"], name="judgments_run_by_name"),
            models.Index(fields=["at", "id"], name="judgments_run_by_at"),
            models.Index(
                fields=["day"], include=["n_bytes"], condition=Q(n_labels=0), name="judgments_run_by_day"
            ),
            models.Index(fields=["day"], condition=~Q(n_labels=0), name="judgments_run_labelled"),
            models.Index(fields=["session_id"], condition=~Q(session_id=""), name="judgments_run_by_session"),
            GinIndex(fields=["quotes"], name="judgments_run_by_quote"),
        ]

    def __str__(self) -> str:
        return f"{self.judgment}/{self.id}"


class RunEventKind(models.TextChoices):
    """What was added to a run later."""

    LABEL = "label"
    ACTED = "acted"
    GATES = "gates"


class RunEvent(models.Model):
    """Something learned after the ask, appended and never edited.

    `run_id` is no foreign key: a label may come before its slow run is saved. `by` is `<app>:<who>`.
    """

    run_id = models.UUIDField()
    judgment = models.CharField(max_length=150)
    kind = models.CharField(max_length=8, choices=RunEventKind)
    value = models.CharField(max_length=200, blank=True)
    question = models.CharField(max_length=200, blank=True)
    by = models.CharField(max_length=200, blank=True)
    strength = models.CharField(max_length=8, blank=True, help_text="strong or weak")
    data = models.JSONField(null=True, blank=True)
    at = models.DateTimeField(default=now)

    class Meta:
        indexes = [
            models.Index(fields=["run_id", "id"], name="judgments_event_by_run"),
            models.Index(fields=["judgment", "at"], name="judgments_event_by_name"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.value} on {self.run_id}"


class LaterStatus(models.TextChoices):
    """Where a background ask is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"


class LaterAsk(Leased):
    """A background ask: `queued → running → done`, `running → queued` after a crash; its run has the same id.

    `then` names the handler that is called once, in the transaction that closes the ask; `state` holds state
    and quotes until then. At most one open ask per judgment.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    judgment = models.CharField(max_length=150)
    state = OrderedJSON(null=True)
    session_id = models.CharField(max_length=200)
    then = models.CharField(max_length=150, blank=True)
    status = models.CharField(max_length=8, choices=LaterStatus, default=LaterStatus.QUEUED)
    agent = models.ForeignKey(
        "synth.Agent", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    is_saved = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judgment"],
                condition=Q(status__in=["queued", "running"]),
                name="judgments_later_one_open",
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(status__in=["queued", "running"]), name="judgments_later_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.judgment}/{self.id} {self.status}"


class ArtifactStatus(models.TextChoices):
    """Whether a trained artifact serves."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    RETIRED = "retired"


class ModelArtifact(models.Model):
    """A trained head or delta of at most 8 MiB: `candidate → active → retired`.

    `path` is set for one shipped in the repository, `data` for one trained here.
    """

    name = models.CharField(max_length=100)
    version = models.CharField(max_length=50)
    sha256 = models.CharField(max_length=64)
    data = models.BinaryField(null=True, blank=True, editable=False)
    path = models.CharField(max_length=300, blank=True)
    metrics = models.JSONField(default=dict)
    status = models.CharField(max_length=16, choices=ArtifactStatus, default=ArtifactStatus.CANDIDATE)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="judgments_artifact_once"),
            models.UniqueConstraint(
                fields=["name"], condition=Q(status="active"), name="judgments_artifact_one_active"
            ),
        ]

    def __str__(self) -> str:
        return f"synth-{self.name}@{self.version}"
