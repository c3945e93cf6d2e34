"""Looks through the whole database for what an erase could not decide about, and tells where it is."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from synth.backup.catalog import query, quoted
from synth.services.traces import MIN_NAME, Traces

# The erase itself removes copies from these, or their rows belong to somebody else who said the same.
CLEANED = frozenset(
    "synth_memory synth_memoryterm synth_diaryentry synth_promptpart synth_llmcall synth_auditentry "
    "synth_outboxevent synth_idempotentanswer".split()
)


def columns() -> list[tuple[str, str]]:
    """Table and column of everything that holds text."""
    return [
        (table, column)
        for table, column in query(
            "SELECT table_name, column_name "
            "FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) "
            "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' "
            "AND data_type IN ('text', 'character varying', 'jsonb', 'json') ORDER BY 1, 2"
        )
    ]


def count(names: Sequence[str], traces: Traces) -> dict[str, int]:
    """Rows by column that hold a name as a word or, outside the cleaned tables, a copy of an erased text.

    Reads every text of the database once. Call it inside a transaction.
    """
    pattern = _pattern([name for name in names if len(name) >= MIN_NAME])
    found: dict[str, int] = {}
    for table, column in columns():
        n = _named(table, column, pattern) if pattern else 0
        if traces and table not in CLEANED:
            n = max(n, _copied(table, column, traces))
        if n:
            found[f"{table}.{column}"] = n
    return found


def _pattern(names: list[str]) -> str:
    """A PostgreSQL pattern for any of the names as a whole word; empty for none."""
    if not names:
        return ""
    escaped = query(
        r"SELECT string_agg(regexp_replace(w, '([^[:alnum:][:space:]])', '\\\1', 'g'), '|') "
        "FROM unnest(%s::text[]) w",
        names,
    )[0][0]
    return rf"(^|[^[:alnum:]_])({escaped})($|[^[:alnum:]_])"


def _named(table: str, column: str, pattern: str) -> int:
    sql = f"SELECT count(*) FROM {quoted(table)} WHERE {quoted(column)}::text ~* %s"  # noqa: S608 - quoted
    return int(query(sql, pattern)[0][0])


def _copied(table: str, column: str, traces: Traces) -> int:
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            f"SELECT {quoted(column)}::text FROM {quoted(table)} "  # noqa: S608 - quoted
            f"WHERE length({quoted(column)}::text) > 3"
        )
        return sum(traces.are_in(text) for (text,) in cursor)
