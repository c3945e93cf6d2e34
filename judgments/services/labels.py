"""What came of a run, appended to it later: labels and what was done; nothing is ever edited."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils.timezone import now

from judgments import strict_json
from judgments.models import Run, RunEvent, RunEventKind
from judgments.services import runs
from synth.errors import Conflict

MAX_CHARS = 200
STRENGTHS = ("strong", "weak")
SHOULD_HAVE_ASKED = "should_have_asked"
log = structlog.get_logger(__name__)


def label(
    run_id: str | None,
    value: str,
    *,
    by: str = "",
    app: str | None = None,
    strength: str = "strong",
    question: str | None = None,
    is_once: bool = False,
) -> bool:
    """Append a label; whether one was saved. A None id saves nothing and is no error.

    `app` is the app that says so: a run of another app's judgment is ValueError; kept as `<app>:<by>`
    (without `app`, the run's own). A label may come before its slow run. ValueError for blank or longer than
    200 characters. `is_once`: Conflict `already_labelled` when this value was said of this question before.
    """
    if run_id is None:
        return False
    judgment, key = _checked(run_id, app)
    _short(value, "value")
    _short(question or "-", "question")
    if strength not in STRENGTHS:
        raise ValueError(f"strength is one of {', '.join(STRENGTHS)}, not {strength!r}")
    owner = app or _app_of(judgment)
    row = RunEvent(
        run_id=key, judgment=judgment, kind=RunEventKind.LABEL, value=value, question=question or "",
        by=f"{owner}:{by}"[:MAX_CHARS], strength=strength, at=now(),
    )  # fmt: skip
    return append(row, is_once=is_once)


def acted(run_id: str | None, what: str, *, by: str = "", app: str | None = None) -> bool:
    """Append what was done about a run; as `label` otherwise."""
    if run_id is None:
        return False
    judgment, key = _checked(run_id, app)
    _short(what, "what")
    owner = f"{app or _app_of(judgment)}:{by}"[:MAX_CHARS]
    return append(
        RunEvent(run_id=key, judgment=judgment, kind=RunEventKind.ACTED, value=what, by=owner, at=now())
    )


def append(row: RunEvent, *, is_once: bool = False) -> bool:
    """Append any event; False, with a warning, when it could not be saved."""
    if not runs.is_on():
        return False
    try:
        with transaction.atomic():
            if is_once:
                _refuse_twice(row)
            row.save(force_insert=True)
            if row.kind == RunEventKind.LABEL:
                _count(row.run_id)
    except DatabaseError as error:
        if connection.in_atomic_block and connection.needs_rollback:
            raise
        log.warning("run_event_not_saved", judgment=row.judgment, kind=row.kind, error=str(error)[:200])
        return False
    return True


def _count(key: UUID) -> None:
    """Count the label on its run; one that is not there yet counts its early labels itself."""
    run = Run.objects.filter(pk=key)
    if not run.update(n_labels=F("n_labels") + 1):
        runs.lock(key)
        run.update(n_labels=F("n_labels") + 1)


def _refuse_twice(row: RunEvent) -> None:
    # The run's row is the lock: two at once become one and a refusal.
    Run.objects.select_for_update(of=("self",)).filter(pk=row.run_id).first()
    same = RunEvent.objects.filter(
        run_id=row.run_id, kind=RunEventKind.LABEL, value=row.value, question=row.question
    ).first()
    if same is not None:
        raise Conflict(
            "This was said of the run before.", code="already_labelled", by=same.by, at=same.at.isoformat()
        )


def _checked(run_id: str, app: str | None) -> tuple[str, UUID]:
    judgment, key = runs.parse_id(run_id)
    if app is not None and app != _app_of(judgment):
        raise ValueError(f"{run_id} is not a run of {app}")
    return judgment, key


def _app_of(judgment: str) -> str:
    return judgment.partition(".")[0]


def _short(text: Any, field: str) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_CHARS:
        raise ValueError(f"{field} is a text of 1–{MAX_CHARS} characters")
    if strict_json.saveable(text) != text:
        raise ValueError(f"{field} holds a NUL or half a character")
