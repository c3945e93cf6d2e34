"""Purges runs with their events, and the runs that quoted them, and says what went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from judgments import strict_json
from judgments.models import JudgmentVersion, LaterAsk, LaterStatus, Run, RunEvent
from judgments.services import runs
from synth.services import kept_answers

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
    """These runs and asks, those that quote them however indirectly, all their events; rows by table.

    An ask on its way goes too: neither it nor a label of its run comes back.
    """
    counts: Counter[str] = Counter()
    with transaction.atomic():
        # Asks first: an ask that is being closed is waited for, and its run is seen below; one that would be
        # closed later finds itself gone and saves nothing.
        gone = _locked(LaterAsk.objects.none() if asks is None else asks)
        ids, gone = _with_what_quotes(set(rows.values_list("pk", flat=True)), gone)
        for chunk in _chunks(ids):
            _locked(Run.objects.filter(pk__in=chunk))  # a label under way is waited for
            counts["judgments.RunEvent"] += RunEvent.objects.filter(run_id__in=chunk).delete()[0]
            named = Run.objects.filter(pk__in=chunk).values_list("judgment", "pk")
            counts["synth.IdempotentAnswer"] += kept_answers.forget_runs(f"{name}/{pk}" for name, pk in named)
            counts["judgments.Run"] += Run.objects.filter(pk__in=chunk).delete()[0]
        for chunk in _chunks(gone):
            counts["judgments.LaterAsk"] += LaterAsk.objects.filter(pk__in=chunk).delete()[0]
    return {table: n for table, n in sorted(counts.items()) if n}


def _locked(rows: QuerySet[Any]) -> set[UUID]:
    """Their keys; nobody else changes them until the transaction ends."""
    return set(rows.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))


def _with_what_quotes(ids: set[UUID], asks: set[UUID]) -> tuple[set[UUID], set[UUID]]:
    """Keys of runs, there or still to come, and of asks: these, and all that quote one of them."""
    found = ids | asks
    while True:
        # Asks before runs: one that is closed in between has its run among those read next.
        waiting = LaterAsk.objects.exclude(status=LaterStatus.DONE).exclude(pk__in=asks)
        new = _locked(LaterAsk.objects.filter(pk__in=[row.pk for row in waiting if _quotes(row) & found]))
        known = found | new
        found = quoting(known)
        asks = asks | new
        if found == known:
            return found, asks


def _quotes(row: LaterAsk) -> set[UUID]:
    """Ids of the runs that a waiting ask repeats."""
    kept = row.state or {"state": "", "quotes": []}
    draft = runs.Draft(row.judgment, (), kept["state"], "", row.created_at, row.pk, quotes=kept["quotes"])
    return {UUID(key) for key in runs.quoted_ids(draft)}


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
