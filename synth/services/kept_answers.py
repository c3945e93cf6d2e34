"""The answers kept for requests that come again under their Idempotency-Key."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection


def forget_runs(ids: Iterable[str]) -> int:
    """Forget the answers that name one of these runs of judgments, as `run_id`; how many."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM synth_idempotentanswer WHERE body->>'run_id' = ANY(%s)", [list(ids)])
        return int(cursor.rowcount)
