"""Labelled runs as lines of JSON, for training and for looking at them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from judgments.models import Run, RunEvent, RunEventKind
from judgments.services.reports import check_name

_CHUNK = 500


def labelled(name: str, since: datetime | None = None) -> Iterator[dict[str, Any]]:
    """One map a labelled run, oldest first: state, questions, answers, the last label of each question.

    `label` is what training reads: of the only question, an option's name, a level's number, or `true` /
    `false`; null where that is not known. Runs that were cut in the record are left out. NotFound for an
    unknown name.
    """
    check_name(name)
    rows = Run.objects.filter(judgment=name, n_labels__gt=0, is_truncated=False).select_related("version")
    if since is not None:
        rows = rows.filter(at__gte=since)
    batch: list[Run] = []
    for run in rows.order_by("at", "id").iterator(chunk_size=_CHUNK):
        batch.append(run)
        if len(batch) == _CHUNK:
            yield from _lines(batch)
            batch = []
    yield from _lines(batch)


def _lines(batch: list[Run]) -> Iterator[dict[str, Any]]:
    labels: dict[Any, dict[str, dict[str, str]]] = {}
    events = RunEvent.objects.filter(run_id__in=[run.pk for run in batch], kind=RunEventKind.LABEL)
    for event in events.order_by("id"):
        said = {"value": event.value, "by": event.by, "strength": event.strength}
        mine = labels.setdefault(event.run_id, {})
        # Out and in again: the last one said stands last, whichever question it names.
        mine.pop(event.question, None)
        mine[event.question] = said
    for run in batch:
        yield {
            "run": str(run),
            "at": run.at.isoformat(),
            "state": run.state,
            "questions": run.version.questions,
            "answers": run.answers,
            "served_model": run.served_model,
            "positive": run.positive,
            "negative": run.negative,
            "labels": labels.get(run.pk, {}),
            "label": _truth(run, labels.get(run.pk, {})),
        }


def _truth(run: Run, labels: dict[str, dict[str, str]]) -> str | None:
    """What was true, by the last label of the only question."""
    if len(run.version.questions) != 1 or not labels:
        return None
    ((_, question),) = run.version.questions.items()
    value = list(labels.values())[-1]["value"]
    if question["type"] == "choice" and value in question["criteria"]:
        return value
    if question["type"] == "score" and value in question["criteria"]:
        return str(question["criteria"].index(value))
    if question["type"] == "noul" and value in (*run.positive, *run.negative):
        return "true" if value in run.positive else "false"
    return None
