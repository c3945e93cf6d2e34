"""Runs in the admin site: the list, one run with its state behind a click, the queue, the report."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.timezone import now
from django.views.decorators.http import require_POST, require_safe

from judgments import selectors
from judgments.admin.base import JudgmentFilter, Records, me
from judgments.charts import histogram_bars, reliability_points
from judgments.models import Run, RunEvent
from judgments.report_text import dial_text
from judgments.services import labels, reports
from synth.errors import DomainError, NotFound

KEYS = "1234567890"
PERIODS = (7, 14, 30, 90, 365)


@admin.register(Run)
class RunAdmin(Records):
    """Every saved ask."""

    list_display = ("at", "judgment", "origin", "served_model", "outcome", "n_labels", "caller")
    list_filter = (JudgmentFilter, "origin", "is_asked")
    list_select_related = ("api_key",)
    page_template = "judgments/run_page.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        rows: QuerySet[Run] = super().get_queryset(request)
        return rows.defer("state", "answers")

    @admin.display(description="outcome")
    def outcome(self, row: Run) -> str:
        """Answered, or why not."""
        return row.failure or row.skipped or "answered"

    @admin.display(description="caller")
    def caller(self, row: Run) -> str:
        """The first characters of the key."""
        return f"{row.api_key.prefix}…" if row.api_key is not None else ""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("queue/", view(self.queue_view), name="judgments_queue"),
            path("queue/<uuid:pk>/", view(self.label_view), name="judgments_label"),
            path("report/", view(self.report_view), name="judgments_report"),
            *super().get_urls(),
        ]

    def shown(self, request: HttpRequest, object_id: str | None) -> Run:
        self.look(request)
        row = _run(object_id)
        if row is None:
            raise Http404
        return row

    def page_context(self, request: HttpRequest, row: Run) -> dict[str, Any]:
        return run_context(row)

    @method_decorator(require_safe)
    def queue_view(self, request: HttpRequest) -> HttpResponse:
        """The newest run nobody has labelled, older than the one just seen."""
        self.look(request)
        name = request.GET.get("judgment", "")
        names = selectors.known_names()
        row = _next(name, _run(request.GET.get("after"))) if name in names else None
        context: dict[str, Any] = {"judgment": name, "names": names, "run": row}
        if row is not None:
            context |= {**run_context(row), "choices": choices_of(row)}
        return self.render(request, "judgments/queue.html", "Label judgments", **context)

    @method_decorator(require_POST)
    def label_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Append a label and show the next run."""
        self.look(request)
        row = _run(str(pk))
        if row is None:
            raise Http404
        value = request.POST.get("value", "")  # to the byte: two options may differ in blanks alone
        if value.strip():
            question = request.POST.get("question") or None
            try:
                labels.label(str(row), value, by=me(request).username, question=question)
            except (ValueError, DomainError) as error:
                messages.error(request, str(error))
        query = urlencode({"judgment": row.judgment, "after": str(row.pk)})
        return redirect(f"{reverse('admin:judgments_queue')}?{query}")

    @method_decorator(require_safe)
    def report_view(self, request: HttpRequest) -> HttpResponse:
        """How good a judgment is, with its reliability diagram and histogram."""
        self.look(request)
        name = request.GET.get("judgment", "")
        days = request.GET.get("days", "14")
        n_days = int(days) if days in map(str, PERIODS) else 14
        context: dict[str, Any] = {"names": selectors.known_names(), "periods": PERIODS, "days": n_days}
        if name:
            try:
                context["report"] = with_charts(reports.report(name, days=n_days, at=now()))
            except NotFound as error:
                messages.error(request, error.message)
        return self.render(
            request, "judgments/report.html", "How good judgments are", judgment=name, **context
        )


@admin.register(RunEvent)
class RunEventAdmin(Records):
    """What was said of runs later."""

    list_display = ("at", "judgment", "kind", "value", "question", "by", "strength")
    list_filter = (JudgmentFilter, "kind")
    ordering = ["-id"]


def _run(key: str | None) -> Run | None:
    try:
        pk = UUID(key or "")
    except ValueError:
        return None
    return Run.objects.select_related("version", "api_key", "agent").filter(pk=pk).first()


def _next(name: str, after: Run | None) -> Run | None:
    rows = Run.objects.filter(judgment=name, n_labels=0, is_asked=True, failure="")
    if after is not None and after.judgment == name:
        rows = rows.filter(at__lt=after.at)
    return rows.select_related("version", "api_key", "agent").order_by("-at", "-id").first()


def run_context(row: Run) -> dict[str, Any]:
    """What a run's page shows; texts are indented JSON."""
    return {
        "run": row,
        "state": row.state if isinstance(row.state, str) else _pretty(row.state),
        "questions": _pretty(row.version.questions),
        "answers": _pretty(row.answers),
        "events": selectors.events_of(row),
    }


def choices_of(row: Run) -> list[dict[str, str]]:
    """The label values that can be said with one key: what was declared, and the options of choices."""
    found: dict[tuple[str, str], None] = {}
    for value in (*row.positive, *row.negative):
        found[value, ""] = None
    for key, question in row.version.questions.items():
        if question["type"] == "choice":
            found |= {(name, key): None for name in question["criteria"]}
        elif question["type"] == "noul" and not found:
            found |= {("true", key): None, ("false", key): None}
    pairs = [pair for pair in found if pair[0].strip() and max(map(len, pair)) <= labels.MAX_CHARS]
    return [
        {"value": value, "question": question, "key": key}
        for key, (value, question) in zip(KEYS, pairs, strict=False)
    ]


def with_charts(report: dict[str, Any]) -> dict[str, Any]:
    """The report with what its drawings need."""
    for group in report["groups"]:
        for question in group["questions"].values():
            question["bars"] = histogram_bars(question["histogram"])
            if question["calibration"]:
                question["points"] = reliability_points(question["calibration"]["reliability"])
                question["dial_text"] = dial_text(question["dial"], report["budget"])
    return report


def _pretty(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)
