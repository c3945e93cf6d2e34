"""The questions recall asks the database: counts of terms, neighbours of unknown words, candidates.

Each statement reads a bounded number of rows whatever the size or statistics of the table. The row sets that
matter are materialized, so that the planner cannot turn them into a scan of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from synth.recall import lexemes
from synth.recall.query import Choice
from synth.recall.rank import Candidate

KEEP = 150
NEWEST = 3000
MOST_COMMON_TERMS = 8
_NULL_SCOPE = "m.agent_id = %(agent)s AND m.about_id IS NULL"
_OWN_SCOPE = "m.agent_id = %(agent)s AND m.about_id = %(about)s"


def rows(sql: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def settle() -> None:
    """Settings for the statements of this transaction: no compiler start-up inside a 20 ms question."""
    rows("SELECT set_config('jit', 'off', true), set_config('pg_trgm.similarity_threshold', '0.3', true)", {})


def counts(agent_id: int, terms: Sequence[str]) -> dict[str, int]:
    """How many memories of the agent hold each term; unknown terms are left out."""
    sql = """
        SELECT t.term, t.n_memories FROM synth_memoryterm t
        WHERE t.agent_id = %(agent)s AND t.term = ANY(%(terms)s) AND t.n_memories > 0"""
    return dict(rows(sql, {"agent": agent_id, "terms": list(terms)}))


def neighbours(agent_id: int, word: str, limit: int = 40) -> dict[str, int]:
    """Known words with enough trigrams in common with `word`, and their counts."""
    sql = """
        SELECT t.term, t.n_memories FROM synth_memoryterm t
        WHERE t.agent_id = %(agent)s AND t.term %% %(word)s AND t.term !~ '^[#^]' AND t.n_memories > 0
        ORDER BY similarity(t.term, %(word)s) DESC, t.term LIMIT %(limit)s"""
    return dict(rows(sql, {"agent": agent_id, "word": word, "limit": limit}))


def _quoted(scope: str, terms: Sequence[str]) -> list[str]:
    """Terms as text of one-lexeme tsqueries; tokens hold letters and digits only: nothing to escape."""
    return [f"'{scope}{term}'" for term in terms]


_RARE = """
    SELECT m.id FROM unnest(%(queries)s::text[]::tsquery[], %(worths)s::float8[]) AS q(query, worth),
        synth_memory m
    WHERE m.search @@ q.query
    GROUP BY m.id, m.at ORDER BY sum(q.worth) DESC, m.at DESC, m.id DESC LIMIT %(keep)s"""

# The two sources may bring a row twice; both copies have one sum, and twice the rows are kept.
_COMMON = """
    SELECT DISTINCT c.id FROM (
        SELECT m.id FROM (
            (SELECT 1 AS source, m.id, m.at, m.search FROM synth_memory m WHERE {scope}
             ORDER BY m.at DESC, m.id DESC LIMIT %(newest)s)
            UNION ALL
            (SELECT 2, m.id, m.at, m.search FROM synth_memory m WHERE m.search @@ %(all)s::tsquery
             LIMIT %(newest)s)
        ) m, unnest(%(queries)s::text[]::tsquery[], %(worths)s::float8[]) AS q(query, worth)
        WHERE m.search @@ q.query
        GROUP BY m.source, m.id, m.at ORDER BY sum(q.worth) DESC, m.at DESC, m.id DESC LIMIT 2 * %(keep)s
    ) c"""

_FACTS = """
    WITH picked AS MATERIALIZED ({picked})
    SELECT f.id, f.at, f.n_tokens, ARRAY(
        SELECT q.n FROM unnest(%(asked)s::text[]::tsquery[]) WITH ORDINALITY AS q(query, n)
        WHERE f.search @@ q.query)
    FROM (
        -- The empty vector makes a plain copy: else each comparison unpacks the stored value again.
        SELECT m.id, m.at, m.n_tokens, m.search || ''::tsvector AS search
        FROM picked p JOIN synth_memory m ON m.id = p.id WHERE m.agent_id = %(agent)s OFFSET 0
    ) f"""


def candidates(
    agent_id: int, about_id: int | None, choice: Choice, asked: Sequence[str], keep: int = KEEP
) -> list[Candidate]:
    """The most promising memories of one scope, with those of the `asked` terms that each holds."""
    scope = lexemes.scope(agent_id, about_id)
    chosen = choice.rare or choice.common[:MOST_COMMON_TERMS]
    if not chosen:
        return []
    params: dict[str, Any] = {
        "agent": agent_id,
        "about": about_id,
        "keep": keep,
        "queries": _quoted(scope, [term for term, _ in chosen]),
        "worths": [worth for _, worth in chosen],
        "asked": _quoted(scope, asked),
        "newest": NEWEST,
        # A second fetch by two or three common words together finds what is no longer new.
        "all": " & ".join(_quoted(scope, [term for term, _ in chosen[:3]])) if len(chosen) > 1 else "",
    }
    picked = _RARE if choice.rare else _COMMON.format(scope=_NULL_SCOPE if about_id is None else _OWN_SCOPE)
    return [
        Candidate(row[0], row[1], row[2], frozenset(asked[n - 1] for n in row[3]))
        for row in rows(_FACTS.format(picked=picked), params)
    ]
