"""What judgments were asked and how good they were: the list of all, and the report of one.

A report never pools wordings, served models or callers: each combination is a group of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum

from judgments import metrics, registry, selectors
from judgments.dial import error_budget
from judgments.models import JudgmentSetting, JudgmentVersion, Run
from judgments.services import report_sql
from judgments.services.report_sql import Group, Labelled
from synth.errors import NotFound

MAX_GROUPS = 40
MAX_QUESTIONS = 12
BUDGET = 0.05
RESAMPLES = 100


def check_name(name: str) -> str:
    """The name, if anything is known of it. NotFound `judgment_not_found` with the nearest one."""
    known = selectors.known_names()
    if name not in known:
        near = registry.suggest(name, known)
        hint = f" Did you mean {near}?" if near else ""
        raise NotFound(f"No judgment is named {name}.{hint}", code="judgment_not_found", suggestion=near)
    return name


def listing() -> list[dict[str, Any]]:
    """Every known judgment: mode, wordings, runs, labelled runs and questions, failures, models, bytes."""
    settings = dict(JudgmentSetting.objects.values_list("name", "mode"))
    digests = defaultdict(list)
    for version in JudgmentVersion.objects.order_by("-id").values_list(
        "judgment", "instructions_digest", "criteria_digest"
    ):
        digests[version[0]].append(f"{version[1][:8]}/{version[2][:8]}")
    found: dict[str, dict[str, Any]] = {}
    rows = Run.objects.values("judgment", "served_model").annotate(
        n=Count("pk"), n_failed=Count("pk", filter=~Q(failure="")), size=Sum("n_bytes")
    )
    for row in rows.order_by():
        one = found.setdefault(row["judgment"], {"n_runs": 0, "n_failed": 0, "n_bytes": 0, "models": []})
        one["n_runs"] += row["n"]
        one["n_failed"] += row["n_failed"]
        one["n_bytes"] += row["size"] or 0
        one["models"] += [row["served_model"]] if row["served_model"] else []
    labels = report_sql.label_counts()
    names = sorted(found.keys() | digests.keys() | {d.name for d in registry.all_declared()})
    nothing = {"n_runs": 0, "n_failed": 0, "n_bytes": 0, "models": []}
    return [
        {
            "name": name,
            "mode": settings.get(name, "off"),
            "digests": digests[name][:10],
            "n_versions": len(digests[name]),
            "n_labels": labels.get(name, 0),
            **found.get(name, nothing),
        }
        for name in names
    ]


def report(
    name: str, *, days: int, at: datetime, key_id: int | None = None, budget: float = BUDGET
) -> dict[str, Any]:
    """The judgment's last days as JSON values; `key_id` narrows it to one caller. NotFound for others.

    `groups`: one for each wording, served model and caller, the most used first.
    """
    check_name(name)
    since = at - timedelta(days=days)
    groups = report_sql.groups(name, since, key_id)
    shown = sorted(groups, key=lambda group: -group.n_runs)[:MAX_GROUPS]
    # Only these: a client may have worded each of thousands of asks anew, at megabytes each.
    versions = JudgmentVersion.objects.in_bulk({group.version_id for group in shown})
    labelled = report_sql.labelled(name, since, key_id)
    bins = _histograms(versions, since)
    return {
        "judgment": name,
        "days": days,
        "since": since.isoformat(),
        "budget": budget,
        "n_groups": len(groups),
        "groups": [_group(group, versions[group.version_id], labelled, bins, budget) for group in shown],
    }


def _histograms(versions: dict[int, JudgmentVersion], since: datetime) -> dict[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for version in versions.values():
        for question_id, question in list(version.questions.items())[:MAX_QUESTIONS]:
            counted = report_sql.histogram(version, question_id, question, since, metrics.HISTOGRAM_BINS)
            found |= {(version.pk, *key, question_id): bins for key, bins in counted.items()}
    return found


def _group(
    group: Group,
    version: JudgmentVersion,
    labelled: dict[tuple[Any, ...], list[Labelled]],
    bins: dict[tuple[Any, ...], list[int]],
    budget: float,
) -> dict[str, Any]:
    key = (version.pk, group.served_model, group.key_id)
    questions = {}
    for question_id, question in list(version.questions.items())[:MAX_QUESTIONS]:
        mine = labelled.get((*key, question_id), [])
        questions[question_id] = {
            "type": question["type"],
            "histogram": bins.get((*key, question_id), [0] * metrics.HISTOGRAM_BINS),
            **_quality(question["type"], mine, budget),
        }
    return {
        "version": {
            "id": version.pk,
            "instructions_digest": version.instructions_digest,
            "criteria_digest": version.criteria_digest,
            "created_at": version.created_at.isoformat(),
        },
        "served_model": group.served_model,
        "caller": group.caller,
        "n_runs": group.n_runs,
        "n_skipped": group.n_skipped,
        "n_failed": group.n_failed,
        "n_unlabelled": group.n_unlabelled,
        "failures": group.failures,
        "skipped": group.skipped,
        "questions": questions,
    }


def _quality(kind: str, found: list[Labelled], budget: float) -> dict[str, Any]:
    """Labels by value and, where they say right or wrong, the figures.

    A noul's positive label says that yes was true. A choice is right when its label names the option that was
    chosen, or is a positive one; p is then that of the chosen option. A score's most likely level counts as
    chosen; its label names a level by its words or its number.
    """
    labels: dict[str, int] = defaultdict(int)
    for one in found:
        labels[one.value] += 1
    pairs = [(one.p, outcome) for one in found if one.p is not None and (outcome := one.outcome) is not None]
    if not pairs:
        return {"labels": dict(labels), "calibration": None, "dial": None}
    figures = metrics.calibration(pairs)
    if kind == "noul":
        sure = metrics.certainties(pairs)
    else:
        # Among many options the right one may well have less than a half.
        sure = [(p, not right) for p, right in pairs]
        figures = replace(figures, accuracy=sum(right for _, right in pairs) / len(pairs))
    return {
        "labels": dict(sorted(labels.items(), key=lambda item: -item[1])),
        "calibration": asdict(figures),
        "dial": asdict(error_budget(sure, budget, resamples=RESAMPLES)),
    }
