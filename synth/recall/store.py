"""The questions recall asks the database: counts of terms, neighbours of unknown words, candidates.

Each statement reads a bounded number of rows whatever the size or statistics of the table. The row sets that
matter are materialized, so that the planner cannot turn them into a scan of everything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from synth.recall import lexemes, rank
from synth.recall.lexemes import HEAD
from synth.recall.query import Choice
from synth.recall.rank import Candidate

KEEP = 150
NEWEST = 2000
MOST_COMMON_TERMS = 8
FEW = 6
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


# The score of `synth.recall.rank`, by the words asked for here; numeric instead of float8 costs 10 ms.
_SCORE = f"""sum(q.worth) / (1 + 0.1 * ln(1 + m.n_tokens / 100::float8)) + sum(q.head)
        + {rank.FRESH} * exp({-math.log(2) / rank.HALF_LIFE_DAYS / 86_400}::float8
            * greatest(extract(epoch FROM %(now)s - m.at)::float8, 0)) DESC, m.at DESC, m.id DESC"""

_RARE = """
    SELECT m.id FROM unnest(%(queries)s::text[]::tsquery[], %(worths)s::float8[], %(heads)s::float8[])
        AS q(query, worth, head), synth_memory m
    WHERE m.search @@ q.query GROUP BY m.id, m.at, m.n_tokens ORDER BY {score} LIMIT %(keep)s"""

# The two sources may bring a row twice; both copies have one sum, and twice the rows are kept.
_COMMON = """
    SELECT DISTINCT c.id FROM (
        SELECT m.id FROM (
            (SELECT 1 AS source, m.id, m.at, m.n_tokens, m.search FROM synth_memory m WHERE {scope}
             ORDER BY m.at DESC, m.id DESC LIMIT %(newest)s)
            UNION ALL
            (SELECT 2, m.id, m.at, m.n_tokens, m.search FROM synth_memory m
             WHERE m.search @@ %(older)s::tsquery LIMIT %(newest)s)
        ) m, unnest(%(queries)s::text[]::tsquery[], %(worths)s::float8[], %(heads)s::float8[])
            AS q(query, worth, head)
        WHERE m.search @@ q.query
        GROUP BY m.source, m.id, m.at, m.n_tokens ORDER BY {score} LIMIT 2 * %(keep)s
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


def _asks(scope: str, choice: Choice) -> list[tuple[str, str, float]]:
    """What is asked of the index: a tsquery, the term it stands for, its worth."""
    if not choice.rare:
        chosen = choice.common[:MOST_COMMON_TERMS] + choice.heads
        return [(f"'{scope}{term}'", term, worth) for term, worth in chosen]
    asks = [(f"'{scope}{term}'", term, worth) for term, worth in choice.rare]
    if len(choice.rare) <= FEW:
        # A common word fetches nothing by itself, but tells the candidates of few rare words apart.
        rare = " | ".join(query for query, *_ in asks)
        asks += [(f"({rare}) & '{scope}{term}'", term, worth) for term, worth in choice.common[:FEW]]
    return asks


def _older(scope: str, choice: Choice) -> str:
    """A tsquery for memories that are no longer new: by two or three common words together, or by a head."""
    common = _quoted(scope, [term for term, _ in choice.common[:3]])
    together = [f"({' & '.join(common)})"] if len(common) > 1 else []
    return " | ".join(together + _quoted(scope, [term for term, _ in choice.heads]))


def candidates(
    agent_id: int,
    about_id: int | None,
    choice: Choice,
    *,
    asked: Sequence[str],
    total: float,
    at: datetime,
    keep: int = KEEP,
) -> list[Candidate]:
    """The most promising memories of one scope, with those of the `asked` terms that each holds.

    `total` is the weight of the whole question, `at` the instant freshness is counted from.
    """
    scope = lexemes.scope(agent_id, about_id)
    asks = _asks(scope, choice)
    if not asks:
        return []
    params: dict[str, Any] = {
        "agent": agent_id,
        "about": about_id,
        "now": at,
        "keep": keep,
        "queries": [query for query, *_ in asks],
        "worths": [0.0 if term.startswith(HEAD) else rank.WORDS * worth / total for _, term, worth in asks],
        "heads": [rank.HEADS * worth / total if term.startswith(HEAD) else 0.0 for _, term, worth in asks],
        "asked": _quoted(scope, asked),
        "newest": NEWEST,
        "older": _older(scope, choice),
    }
    picked = _RARE if choice.rare else _COMMON
    picked = picked.format(scope=_NULL_SCOPE if about_id is None else _OWN_SCOPE, score=_SCORE)
    return [
        Candidate(row[0], row[1], row[2], frozenset(asked[n - 1] for n in row[3]))
        for row in rows(_FACTS.format(picked=picked), params)
    ]
