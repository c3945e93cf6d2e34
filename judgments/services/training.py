"""Heads trained here: `train` makes one and saves it, `activate` lets it serve, `serving` are those that do.

`train` and `calibrate` import torch, so they run in a command of their own, never in a web or worker process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, transaction
from django.utils.module_loading import import_string

from judgments import core_questions, declared, heads, registry
from judgments.models import ArtifactStatus, ModelArtifact
from judgments.questions import Question, read_question
from synth.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from judgments.ml.making import Made

MAX_BYTES = 8 * 1024 * 1024
Say = Callable[[str], None]
_FIXTURE_KITS = {"toolkits": {"calendar": "Appointments."}}


def question_of(name: str) -> Question:
    """The one question of a judgment that can be trained, ours or an app's. Invalid for another, NotFound."""
    if name in core_questions.names():
        ((key, value),) = core_questions.of(name).items()
        question, _ = read_question(key, value)
        if question is not None:
            return question
    if name in (*declared.CORE,):
        return registry.get(name).questions_for(_FIXTURE_KITS)[0]
    found = _declared(name)
    if found is None or len(found) != 1:
        raise Invalid(f"{name} has not one question that stays the same, so it cannot have a head.")
    return found[0]


def _declared(name: str) -> tuple[Question, ...] | None:
    try:
        return registry.get(name).questions
    except registry.Undeclared as error:
        raise NotFound(str(error), code="judgment_not_found") from None


def trainable() -> list[str]:
    """The judgments that heads can be trained for without rows of one's own."""
    return sorted({*core_questions.names(), *declared.CORE})


def train(
    name: str, *, n_rows: int = 2_000, rows_file: Path | None = None, say: Say = lambda _: None
) -> ModelArtifact:
    """Train a head for `name` on generated rows, and on the labelled ones of a file; saved as a candidate.

    The file has JSON lines `{"state": …, "label": …}`; a judgment that has no generator needs one. Imports
    torch; minutes on two cores. NotFound, or Invalid for rows that cannot be trained on.
    """
    question = question_of(name)
    make: Callable[..., Made] = import_string("judgments.ml.making.make")
    made = make(name, question, n_rows=n_rows, rows_file=rows_file, say=say)
    return save(name, made.data, made.metrics)


def calibrate(name: str, rows_file: Path, *, say: Say = lambda _: None) -> ModelArtifact:
    """The head that serves `name` with its temperature fitted anew on labelled rows; saved as a candidate."""
    again: Callable[..., Made] = import_string("judgments.ml.making.calibrate")
    made = again(name, question_of(name), rows_file, active().get(name), say=say)
    return save(name, made.data, made.metrics)


def evaluate(
    names: Sequence[str],
    *,
    is_shipped: bool = False,
    rows_file: Path | None = None,
    say: Say = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """The numbers on held-out rows of the heads that serve (or are shipped), by judgment; no name: all.

    NotFound for a name without a head. Imports torch.
    """
    found = heads.shipped() if is_shipped else serving()
    for name in names:
        if name not in found:
            raise NotFound(f"There is no head for {name}.", code="judgment_not_found")
    chosen = {name: found[name] for name in names or found}
    questions = {name: question_of(name) for name in chosen}
    run: Callable[..., dict[str, dict[str, Any]]] = import_string("judgments.ml.evaluating.evaluate")
    return run(chosen, questions, rows_file=rows_file, say=say)


def save(name: str, data: bytes, metrics: dict[str, Any]) -> ModelArtifact:
    """Keep a head as a candidate; the same bytes twice are one row. Invalid over 8 MiB."""
    if len(data) > MAX_BYTES:
        raise Invalid(f"a head may have {MAX_BYTES} bytes, this one has {len(data)}")
    digest = hashlib.sha256(data).hexdigest()
    row, _ = ModelArtifact.objects.get_or_create(
        name=name, version=digest[:8], defaults={"sha256": digest, "data": data, "metrics": metrics}
    )
    return row


def activate(name: str, version: str) -> ModelArtifact:
    """Let this version serve instead of the one before; the torch worker reads it when it starts anew.

    Conflict `no_such_artifact` when there is no such candidate.
    """
    with transaction.atomic():
        # All of the name, in one order: two commands at once take turns.
        list(ModelArtifact.objects.filter(name=name).order_by("pk").select_for_update().values_list("pk"))
        ModelArtifact.objects.filter(name=name, status=ArtifactStatus.ACTIVE).update(
            status=ArtifactStatus.RETIRED
        )
        n = (
            ModelArtifact.objects.filter(name=name, version=version)
            .exclude(status=ArtifactStatus.ACTIVE)
            .update(status=ArtifactStatus.ACTIVE)
        )
        if not n:
            raise Conflict(f"no head {name}@{version}", code="no_such_artifact")
    return ModelArtifact.objects.get(name=name, version=version)


def serving() -> dict[str, bytes]:
    """The heads that answer: the shipped ones, each replaced by the one made active here."""
    return {**heads.shipped(), **active()}


def active() -> dict[str, bytes]:
    """The bytes of the heads made active here, by judgment; {} where the database does not answer."""
    try:
        rows = ModelArtifact.objects.filter(status=ArtifactStatus.ACTIVE, data__isnull=False)
        return {row.name: bytes(row.data) for row in rows if row.data}
    except DatabaseError:
        return {}
