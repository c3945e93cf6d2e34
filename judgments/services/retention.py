"""Lets go of old runs: by day, then by size; in chunks, so that nothing waits long for a lock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, ProtectedError, QuerySet, Sum

from judgments import options
from judgments.models import JudgmentVersion, Run, RunEvent
from judgments.services import later
from synth.rowqueue.deadline import Deadline

LABELLED_DAYS = 365
CHUNK = 2_000
MIB = 1024 * 1024


def sweep(at: datetime, deadline: Deadline) -> dict[str, int]:
    """Delete what is too old or too much, as of `at`; rows by kind. Today's runs always stay.

    Runs without labels go after SESSION_RETENTION_DAYS (0: never), then the oldest days until the rest is
    under SYSTEM_ONE_RUNS_MAX_MIB. Labelled runs stay 365 days and do not count.
    """
    today = at.astimezone(UTC).date()
    days = int(options.read(options.RETENTION_DAYS))
    counts = {"old": 0, "labelled": 0, "over": 0, "versions": 0, "asks": later.forget_done(at), "events": 0}
    plain, labelled = Run.objects.filter(n_labels=0), Run.objects.exclude(n_labels=0)
    if days:
        counts["old"] = _delete(plain.filter(day__lt=today - timedelta(days=days)), deadline)
        kept = max(days, LABELLED_DAYS)
        counts["labelled"] = _delete(labelled.filter(day__lt=today - timedelta(days=kept)), deadline)
    for day in days_over(today, int(options.read(options.RUNS_MAX_MIB)) * MIB):
        counts["over"] += _delete(plain.filter(day=day), deadline)
    counts["versions"] = _versions(deadline)
    counts["events"] = _events(at)
    return counts


def days_over(today: date, limit_bytes: int) -> list[date]:
    """The oldest days that must go so that the rest fits; never today."""
    sizes = Run.objects.filter(n_labels=0).values("day").annotate(size=Sum("n_bytes")).order_by("day")
    by_day = [(row["day"], int(row["size"] or 0)) for row in sizes]
    total = sum(size for _, size in by_day)
    found = []
    for day, size in by_day:
        if total <= limit_bytes or day >= today:
            break
        found.append(day)
        total -= size
    return found


def _delete(rows: QuerySet[Run], deadline: Deadline) -> int:
    """Runs and their events, a chunk a transaction."""
    n = 0
    while not deadline.is_over:
        ids = list(rows.order_by("day").values_list("pk", flat=True)[:CHUNK])
        if not ids:
            break
        with transaction.atomic():
            # A label that came in between keeps its run.
            locked = rows.order_by().filter(pk__in=ids).select_for_update(skip_locked=True)
            still = list(locked.values_list("pk", flat=True))
            RunEvent.objects.filter(run_id__in=still).delete()
            Run.objects.filter(pk__in=still)._raw_delete("default")
        n += len(still)
        if not still:
            break
    return n


def _versions(deadline: Deadline) -> int:
    """Wordings without runs; what they said is with no run any more."""
    n = 0
    unused = JudgmentVersion.objects.filter(~Exists(Run.objects.filter(version=OuterRef("pk"))))
    while not deadline.is_over:
        ids = list(unused.values_list("pk", flat=True)[:CHUNK])
        if not ids:
            break
        try:
            with transaction.atomic():
                n += unused.filter(pk__in=ids).delete()[0]
        except (ProtectedError, IntegrityError):
            break  # one was asked again just now; the next sweep takes the others
    return n


def _events(at: datetime) -> int:
    """Events of runs that never came, after a year."""
    old = RunEvent.objects.filter(at__lt=at - timedelta(days=LABELLED_DAYS))
    lost = old.filter(~Exists(Run.objects.filter(pk=OuterRef("run_id"))))
    ids = list(lost.values_list("pk", flat=True)[:CHUNK])
    return RunEvent.objects.filter(pk__in=ids).delete()[0]
