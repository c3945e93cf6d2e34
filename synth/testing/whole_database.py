"""Finds where a word stands in the database, for tests of what an erase leaves."""

from __future__ import annotations

from django.db import connection


def grep(marker: str) -> list[str]:
    """`table.column` of all that hold a marker, letter case aside."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
            "AND data_type IN ('text', 'character varying', 'jsonb', 'json', 'ARRAY', 'tsvector', 'bytea')"
        )
        for table, column in cursor.fetchall():
            sql = f'SELECT count(*) FROM "{table}" WHERE "{column}"::text ILIKE %s'  # noqa: S608 - its own names
            cursor.execute(sql, [f"%{marker}%"])
            if cursor.fetchone()[0]:
                found.append(f"{table}.{column}")
    return found
