"""Keeps the counts of terms right, in the transaction that changes a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Func, Value

from synth.recall import lexemes

_LOCK = 0x5EED  # first key of the advisory lock; the second is the agent


def lock(agent_id: int) -> None:
    """Wait until no other transaction changes this agent's counts; held to the end of the transaction.

    Common words are in nearly every memory, so their rows would serialize writers anyway; one lock taken
    first cannot deadlock.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, agent_id & 0x7FFFFFFF])


def vector(agent_id: int, about_id: int | None, terms: Sequence[str]) -> Func:
    """The search column's value for a memory with these terms."""
    scope = lexemes.scope(agent_id, about_id)
    field = ArrayField(models.TextField())
    return Func(Value([scope + term for term in terms], output_field=field), function="array_to_tsvector")


def held(memory_ids: Sequence[int]) -> list[tuple[int | None, list[str]]]:
    """Person and terms of each of these memories, as the index has them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT about_id, tsvector_to_array(search) FROM synth_memory WHERE id = ANY(%s)",
            [list(memory_ids)],
        )
        return [
            (about, [lexemes.unscoped(item) for item in found or ()]) for about, found in cursor.fetchall()
        ]


def add(counts: Counter[str], about_id: int | None, terms: Iterable[str], sign: int) -> None:
    """Count one memory's terms and its scope, `sign` 1 or -1."""
    for term in (lexemes.scope_term(about_id), *terms):
        counts[term] += sign


def apply(agent_id: int, counts: Counter[str]) -> None:
    """Add the changes to the agent's counts; a term nobody holds any more goes. The lock must be held."""
    up = {term: n for term, n in counts.items() if n > 0}
    down = {term: -n for term, n in counts.items() if n < 0}
    with connection.cursor() as cursor:
        if up:
            cursor.execute(
                "INSERT INTO synth_memoryterm AS t (agent_id, term, n_memories) "
                "SELECT %s, u.term, u.n FROM unnest(%s::text[], %s::int[]) AS u(term, n) "
                "ON CONFLICT (agent_id, term) DO UPDATE SET n_memories = t.n_memories + excluded.n_memories",
                [agent_id, list(up), list(up.values())],
            )
        if down:
            cursor.execute(
                "UPDATE synth_memoryterm t SET n_memories = greatest(t.n_memories - u.n, 0) "
                "FROM unnest(%s::text[], %s::int[]) AS u(term, n) WHERE t.agent_id = %s AND t.term = u.term",
                [list(down), list(down.values()), agent_id],
            )
            cursor.execute(
                "DELETE FROM synth_memoryterm WHERE agent_id = %s AND term = ANY(%s) AND n_memories = 0",
                [agent_id, list(down)],
            )


def recount(agent_id: int) -> int:
    """Count every term of an agent anew from its memories; the number of terms. The lock must be held."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM synth_memoryterm WHERE agent_id = %s", [agent_id])
        cursor.execute(
            "INSERT INTO synth_memoryterm (agent_id, term, n_memories) "
            "SELECT %(agent)s, split_part(x.lexeme, ':', 2), count(*) FROM synth_memory m, "
            "unnest(tsvector_to_array(m.search)) AS x(lexeme) WHERE m.agent_id = %(agent)s GROUP BY 2 "
            "UNION ALL SELECT %(agent)s, '#' || coalesce(about_id, 0), count(*) FROM synth_memory "
            "WHERE agent_id = %(agent)s GROUP BY 2",
            {"agent": agent_id},
        )
        return int(cursor.rowcount)
