"""The answers kept for requests that come again under their Idempotency-Key."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.models import Q

from synth.models import IdempotentAnswer
from synth.services.traces import Traces

_CHUNK = 500


def forget_runs(ids: Iterable[str]) -> int:
    """Forget the answers that name one of these runs of judgments, as `run_id`; how many."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM synth_idempotentanswer WHERE body->>'run_id' = ANY(%s)", [list(ids)])
        return int(cursor.rowcount)


def forget_agent(slug: str) -> int:
    """Forget the answers about an agent, and about what was asked of it; how many."""
    return IdempotentAnswer.objects.filter(Q(body__slug=slug) | Q(body__agent=slug)).delete()[0]


def forget_traces(traces: Traces) -> int:
    """Forget the answers that hold a trace, whole: names and tags beside a text say the same. How many."""
    if not traces:
        return 0
    rows = IdempotentAnswer.objects.exclude(body=None).only("pk", "body").iterator(chunk_size=_CHUNK)
    found = [row.pk for row in rows if traces.scrub(row.body, "") != row.body]
    return IdempotentAnswer.objects.filter(pk__in=found).delete()[0]
