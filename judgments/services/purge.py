"""Purges runs with their events, and the runs that quoted them, and says what went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from judgments import strict_json
from judgments.models import JudgmentVersion, LaterAsk, Run, RunEvent

if TYPE_CHECKING:
    from synth.services.erase import Erasure
    from synth.services.traces import Traces

REMOVED = "[removed]"
_CHUNK = 500


def purge_sessions(sessions: Iterable[str]) -> dict[str, int]:
    """Everything asked in these sessions; a receipt, rows by table."""
    names = list(sessions)
    return purge(Run.objects.filter(session_id__in=names), LaterAsk.objects.filter(session_id__in=names))


def purge(rows: QuerySet[Run], asks: QuerySet[LaterAsk] | None = None) -> dict[str, int]:
    """These runs, the runs that quote them however indirectly, all their events; rows by table."""
    counts: Counter[str] = Counter()
    with transaction.atomic():
        ids = quoting(set(rows.values_list("pk", flat=True)))
        for chunk in _chunks(ids):
            counts["judgments.RunEvent"] += RunEvent.objects.filter(run_id__in=chunk).delete()[0]
            counts["judgments.Run"] += Run.objects.filter(pk__in=chunk).delete()[0]
        if asks is not None:
            counts["judgments.LaterAsk"] += asks.delete()[0]
    return {table: n for table, n in sorted(counts.items()) if n}


def quoting(ids: set[UUID]) -> set[UUID]:
    """These ids and those of all runs that quote one of them, or quote one that does."""
    found, edge = set(ids), set(ids)
    while edge:
        new: set[UUID] = set()
        for chunk in _chunks(edge):
            rows = Run.objects.filter(quotes__has_any_keys=[str(pk) for pk in chunk])
            new |= set(rows.values_list("pk", flat=True))
        edge = new - found
        found |= edge
    return found


def erase(erasure: Erasure) -> dict[str, int]:
    """Part of an erase: the subject's sessions, agent or keys, and every run that repeats their words."""
    wanted = Q(session_id__in=erasure.sessions)
    asks = Q(session_id__in=erasure.sessions)
    if erasure.person is not None:
        wanted |= Q(api_key__person=erasure.person)
    if erasure.agent is not None:
        wanted |= Q(agent=erasure.agent)
        asks |= Q(agent=erasure.agent)
    counts = Counter(purge(Run.objects.filter(wanted), LaterAsk.objects.filter(asks)))
    if erasure.traces:
        counts.update(_traced(erasure.traces))
    return dict(sorted(counts.items()))


def _traced(traces: Traces) -> Counter[str]:
    """Runs, asks and wordings that hold a copy go; events keep their place without it."""
    found = {
        row.pk
        for row in Run.objects.only("pk", "state", "answers", "failure_text").iterator(chunk_size=_CHUNK)
        if any(traces.are_in(_text(value)) for value in (row.state, row.answers, row.failure_text))
    }
    waiting = [row.pk for row in LaterAsk.objects.exclude(status="done") if traces.are_in(_text(row.state))]
    wordings = JudgmentVersion.objects.iterator(chunk_size=_CHUNK)
    versions = [row.pk for row in wordings if traces.are_in(_text(row.questions))]
    rows = Run.objects.filter(Q(pk__in=found) | Q(version__in=versions))
    counts = Counter(purge(rows, LaterAsk.objects.filter(pk__in=waiting)))
    counts["judgments.JudgmentVersion"] += JudgmentVersion.objects.filter(pk__in=versions).delete()[0]
    counts["judgments.RunEvent"] += _scrub_events(traces)
    return Counter({table: n for table, n in counts.items() if n})


def _scrub_events(traces: Traces) -> int:
    n = 0
    names = ("value", "question", "by", "data")
    for row in RunEvent.objects.only("pk", *names).iterator(chunk_size=_CHUNK):
        old = {name: getattr(row, name) for name in names}
        new = {name: traces.scrub(value, REMOVED) for name, value in old.items()}
        if new != old:
            RunEvent.objects.filter(pk=row.pk).update(**new)
            n += 1
    return n


def _text(value: object) -> str:
    return value if isinstance(value, str) else strict_json.dumps(value)


def _chunks(ids: Iterable[UUID]) -> Iterable[list[UUID]]:
    listed = sorted(ids)
    return (listed[at : at + _CHUNK] for at in range(0, len(listed), _CHUNK))
