"""What came of a run, appended to it later: labels and what was done; nothing is ever edited."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from django.db import Error, connection, transaction
from django.db.models import F
from django.utils.timezone import now

from judgments import strict_json
from judgments.models import LaterAsk, LaterStatus, Run, RunEvent, RunEventKind
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

    `app` is the app that says so: a run of another app's judgment is ValueError, and so is an id that names
    another judgment than the saved run's. Kept as `<app>:<by>` (without `app`, the run's own). A label may
    come before its slow run. ValueError for blank or longer than 200 characters. `is_once`: Conflict
    `already_labelled` when this value was said of this question before.
    """
    if run_id is None:
        return False
    judgment, key = _checked(run_id, app)
    _short(value, "value")
    _short(question or "-", "question")
    if strength not in STRENGTHS:
        raise ValueError(f"strength is one of {', '.join(STRENGTHS)}, not {strength!r}")
    row = RunEvent(
        run_id=key, judgment=judgment, kind=RunEventKind.LABEL, value=value, question=question or "",
        by=_signed(app or _app_of(judgment), by), strength=strength, at=now(),
    )  # fmt: skip
    return append(row, is_once=is_once)


def acted(run_id: str | None, what: str, *, by: str = "", app: str | None = None) -> bool:
    """Append what was done about a run; as `label` otherwise."""
    if run_id is None:
        return False
    judgment, key = _checked(run_id, app)
    _short(what, "what")
    owner = _signed(app or _app_of(judgment), by)
    return append(
        RunEvent(run_id=key, judgment=judgment, kind=RunEventKind.ACTED, value=what, by=owner, at=now())
    )


def append(row: RunEvent, *, is_once: bool = False) -> bool:
    """Append any event; False when its run is gone, or with a warning when it could not be saved.

    ValueError for a misnamed run.
    """
    if not runs.is_on():
        return False
    try:
        with transaction.atomic():
            if not _is_known(row):
                return False
            if is_once:
                _refuse_twice(row)
            row.save(force_insert=True)
            if row.kind == RunEventKind.LABEL:
                _count(row.run_id)
    except Error as error:
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


def _is_known(row: RunEvent) -> bool:
    """Whether its run is there, or an ask that will save it; both then stay until this transaction ends.

    ValueError when that is of another judgment.
    """
    # The ask before the run, as in the transaction that closes an ask: a deletion waits, or was first.
    ask = LaterAsk.objects.filter(pk=row.run_id).exclude(status=LaterStatus.DONE)
    kept = Run.objects.filter(pk=row.run_id)
    for rows in (ask, kept):
        name = rows.select_for_update(no_key=True, of=("self",)).values_list("judgment", flat=True).first()
        if name == row.judgment:
            return True
        if name is not None:
            raise ValueError(f"{row.judgment}/{row.run_id} is no run: its judgment has another name")
    return False


def _refuse_twice(row: RunEvent) -> None:
    # Not the run's row: it may not be there yet. Two at once become one and a refusal.
    runs.lock(row.run_id)
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


def _signed(app: str, by: str) -> str:
    """`<app>:<by>`. ValueError when that is longer than 200 characters or cannot be saved."""
    who = f"{app}:{by}" if isinstance(by, str) else by
    _short(who, "by, with its app,")
    return who


def _short(text: Any, field: str) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_CHARS:
        raise ValueError(f"{field} is a text of 1–{MAX_CHARS} characters")
    if strict_json.saveable(text) != text:
        raise ValueError(f"{field} holds a NUL or half a character")
