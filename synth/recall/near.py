"""The vectors of memories in the database: which are nearest to a meaning, which are missing, which are old.

The bits of the newest memories are compared in SQL, exactly only the few that win. A vector belongs to the
memory as it was read: whoever changes a memory deletes its vector, one made from older words is not saved.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from synth.recall.meaning import DIMS, Meaning, cosine, unpack

NEWEST = 10_000  # of each scope are looked through
KEEP = 48
PASSAGE_CHARS = 1_000
_DROP = 1_000

_SCOPE = f"""
        (SELECT v.memory_id, v.signs FROM synth_memoryvector v
         WHERE v.agent_id = %(agent)s AND v.about_id = {{about}} AND v.model = %(model)s
         ORDER BY v.at DESC LIMIT {NEWEST})"""  # noqa: S608 - a number of ours

_BY_BITS = f"ORDER BY bit_count(n.signs # %(signs)s::bit({DIMS})), n.memory_id DESC LIMIT {KEEP}"

_NEAREST = f"""
    WITH near AS MATERIALIZED (SELECT n.memory_id FROM ({{scopes}}) n {_BY_BITS}),
    known AS MATERIALIZED (SELECT n.memory_id FROM synth_memoryvector n
        WHERE n.memory_id = ANY(%(ids)s) AND n.agent_id = %(agent)s AND n.about_id = ANY(%(abouts)s)
        AND n.model = %(model)s {_BY_BITS})
    SELECT v.memory_id, v.vector FROM (SELECT memory_id FROM near UNION SELECT memory_id FROM known) p
    JOIN synth_memoryvector v ON v.memory_id = p.memory_id"""  # noqa: S608 - numbers of ours

_MISSING = """
    SELECT m.id, m.updated_at, m.name, m.tags, left(m.text, %(chars)s) FROM synth_memory m
    WHERE m.id < %(before)s AND NOT EXISTS (SELECT FROM synth_memoryvector v WHERE v.memory_id = m.id)
    ORDER BY m.id DESC LIMIT %(limit)s"""

# The lock waits for whoever changes the memory meanwhile, and then finds it changed.
_SAVE = f"""
    INSERT INTO synth_memoryvector (memory_id, agent_id, about_id, at, model, vector, signs)
    SELECT m.id, m.agent_id, coalesce(m.about_id, 0), m.at, %(model)s, %(vector)s, %(signs)s::bit({DIMS})
    FROM synth_memory m WHERE m.id = %(id)s AND m.updated_at = %(updated_at)s FOR SHARE
    ON CONFLICT (memory_id) DO UPDATE
    SET agent_id = excluded.agent_id, about_id = excluded.about_id, at = excluded.at, model = excluded.model,
        vector = excluded.vector, signs = excluded.signs"""  # noqa: S608 - a number of ours


@dataclass(frozen=True)
class Unread:
    """A memory without a vector: its id, when it was last changed, and what of it is read."""

    id: int
    updated_at: datetime
    text: str


def nearest(agent_id: int, about_id: int | None, meaning: Meaning, ids: Sequence[int]) -> dict[int, float]:
    """Cosines of the memories nearest to a meaning, by id, and of the nearest of `ids`.

    Of those about nobody and, when given, about one person; only those with a vector of the same model.
    """
    abouts = [0] if about_id is None else [0, about_id]
    params = {
        "agent": agent_id,
        "abouts": abouts,
        "model": meaning.model,
        "signs": meaning.signs,
        "ids": list(ids),
        **{f"about{n}": about for n, about in enumerate(abouts)},
    }
    scopes = " UNION ALL ".join(_SCOPE.format(about=f"%(about{n})s") for n in range(len(abouts)))
    numbers = meaning.numbers
    found = _rows(_NEAREST.format(scopes=scopes), params)
    return {pk: cosine(numbers, unpack(bytes(vector))) for pk, vector in found}


def missing(before: int, limit: int) -> list[Unread]:
    """Memories below an id that have no vector, the newest first."""
    rows = _rows(_MISSING, {"before": before, "limit": limit, "chars": PASSAGE_CHARS})
    return [Unread(pk, at, passage(name, tags, text)) for pk, at, name, tags, text in rows]


def passage(name: str, tags: Any, text: str) -> str:
    """What of a memory is read: its name, the beginning of its text, its tags."""
    words = json.loads(tags) if isinstance(tags, str) else tags
    parts = [f"{name}: " if name else "", text, f" ({', '.join(map(str, words))})" if words else ""]
    return "".join(parts)[:PASSAGE_CHARS]


def save(memory: Unread, meaning: Meaning) -> bool:
    """Keep the vector of a memory; False when it was changed or deleted since it was read."""
    params: dict[str, Any] = {
        "id": memory.id,
        "updated_at": memory.updated_at,
        "model": meaning.model,
        "vector": meaning.packed,
        "signs": meaning.signs,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, params)
        return bool(cursor.rowcount)


def drop_others(model: str) -> int:
    """Delete a thousand vectors of other models; how many. They are made anew."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM synth_memoryvector WHERE memory_id IN (SELECT memory_id FROM synth_memoryvector "
            "WHERE model < %(model)s OR model > %(model)s LIMIT %(limit)s)",
            {"model": model, "limit": _DROP},
        )
        return int(cursor.rowcount)


def _rows(sql: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())
