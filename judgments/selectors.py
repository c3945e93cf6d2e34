"""Reads of judgments: who may see which runs, one run with its later lines, what stands in the tables."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from judgments import registry
from judgments.models import JudgmentVersion, Run, RunEvent
from judgments.services import cutting
from synth.schemas import Caller


def runs_seen(caller: Caller) -> QuerySet[Run]:
    """An operator sees all; everybody else what was asked with the key they come with."""
    rows = Run.objects.select_related("api_key")
    if caller.is_operator:
        return rows
    return rows.filter(api_key=caller.key) if caller.key is not None else rows.none()


def run_seen(caller: Caller, judgment: str, key: UUID) -> Run | None:
    """The run, if the caller may see it."""
    return runs_seen(caller).select_related("version").filter(pk=key, judgment=judgment).first()


def events_of(run: Run) -> list[RunEvent]:
    """What was added to it later, oldest first."""
    return list(RunEvent.objects.filter(run_id=run.pk).order_by("id"))


def known_names() -> list[str]:
    """Every judgment that is declared, or has been asked."""
    asked = JudgmentVersion.objects.values_list("judgment", flat=True).distinct()
    return sorted({declaration.name for declaration in registry.all_declared()} | set(asked))


def questions_of(version: JudgmentVersion) -> dict[str, Any]:
    """Id → question as the wire has it, in order."""
    return dict(version.questions)


def has_question(version: JudgmentVersion, question: str) -> bool:
    """Whether the wording asks it. Of one that is kept cut nobody knows, and the answer is yes."""
    return question in version.questions or cutting.is_cut(version.questions)
