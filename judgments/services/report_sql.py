"""The few statements behind reports: each reads the runs of one judgment once, and counts in the database."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from judgments.models import JudgmentVersion

# Sorting many labels in memory instead of on disk, for this transaction only.
_WORK_MEM = "SET LOCAL work_mem = '96MB'"


@dataclass
class Group:
    """Runs of one wording by one served model for one caller; failed runs have no served model."""

    version_id: int
    served_model: str
    key_id: int | None
    caller: str
    n_runs: int = 0
    n_skipped: int = 0
    n_failed: int = 0
    n_unlabelled: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Labelled:
    """The last label of a run and question: p of yes, of the chosen option or of the most likely level, and
    whether it came true.
    """

    value: str
    p: float | None
    outcome: bool | None


def groups(name: str, since: datetime, key_id: int | None) -> list[Group]:
    """Counts by wording, served model and caller."""
    sql = f"""
        SELECT r.version_id, r.served_model, r.api_key_id, r.failure, r.skipped,
               count(*), count(*) FILTER (WHERE r.n_labels = 0)
        FROM judgments_run r
        WHERE r.judgment = %s AND r.at >= %s {_of_key(key_id)}
        GROUP BY r.version_id, r.served_model, r.api_key_id, r.failure, r.skipped"""  # noqa: S608 - own text
    found: dict[tuple[Any, ...], Group] = {}
    rows = _rows(sql, name, since, key_id)
    prefixes = _prefixes({row[2] for row in rows if row[2] is not None})
    for version, model, key, failure, skipped, n, n_unlabelled in rows:
        caller = prefixes.get(key, "")
        one = found.setdefault((version, model, key), Group(version, model, key, caller))
        one.n_runs += n
        one.n_unlabelled += n_unlabelled if not failure and not skipped else 0
        if failure:
            one.n_failed += n
            one.failures[failure] = one.failures.get(failure, 0) + n
        if skipped:
            one.n_skipped += n
            one.skipped[skipped] = one.skipped.get(skipped, 0) + n
    return list(found.values())


def _prefixes(ids: set[int]) -> dict[int, str]:
    return dict(_rows("SELECT id, prefix FROM synth_apikey WHERE id = ANY(%s)", list(ids))) if ids else {}


def histogram(
    version: JudgmentVersion, question_id: str, question: dict[str, Any], since: datetime, bins: int
) -> dict[tuple[str, int | None], list[int]]:
    """Counts of p by (served model, caller): p of yes, of the chosen option, or the score as a share."""
    value, params = _value(question_id, question)
    sql = f"""
        SELECT r.served_model, r.api_key_id,
               greatest(0, least(%s - 1, floor({value} * %s)::int)) AS bin, count(*)
        FROM judgments_run r
        WHERE r.judgment = %s AND r.at >= %s AND r.version_id = %s AND {value} IS NOT NULL
        GROUP BY 1, 2, 3"""  # noqa: S608 - own text
    found: dict[tuple[str, int | None], list[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(sql, [bins, *params, bins, version.judgment, since, version.pk, *params])
        for model, key, bin_, n in cursor.fetchall():
            found.setdefault((model, key), [0] * bins)[bin_] += n
    return found


def _value(question_id: str, question: dict[str, Any]) -> tuple[str, list[Any]]:
    """SQL for the number that a question's histogram shows, 0..1."""
    if question["type"] == "noul":
        return "(r.answers #>> ARRAY[%s, 'noul'])::float", [question_id]
    if question["type"] == "score":
        last = max(1, len(question["criteria"]) - 1)
        return "((r.answers #>> ARRAY[%s, 'score'])::float / %s)", [question_id, last]
    chosen = "(r.answers #>> ARRAY[%s, 'choice'])"
    return f"(r.answers #>> ARRAY[%s, 'probabilities', {chosen}])::float", [question_id, question_id]


def labelled(name: str, since: datetime, key_id: int | None) -> dict[tuple[Any, ...], list[Labelled]]:
    """The last label of each run and question, by (version, served model, caller, question).

    A label that names no question is about the first. What a host says beside an answer's own fields is
    not read.
    """
    sql = f"""
        WITH first AS (
            SELECT v.id, coalesce((SELECT k FROM json_object_keys(v.questions) k LIMIT 1), '') AS question
            FROM judgments_judgmentversion v WHERE v.judgment = %s),
        last AS (
            SELECT DISTINCT ON (r.id, asked) coalesce(nullif(e.question, ''), f.question) AS asked, e.value,
                r.version_id, r.served_model, r.api_key_id, r.answers, r.positive, r.negative
            FROM judgments_runevent e JOIN judgments_run r ON r.id = e.run_id
            JOIN first f ON f.id = r.version_id
            WHERE e.judgment = %s AND e.kind = 'label'
                AND r.judgment = %s AND r.at >= %s AND r.n_labels > 0 {_of_key(key_id)}
            ORDER BY r.id, asked, e.id DESC)
        SELECT version_id, served_model, api_key_id, asked, value,
               CASE a.v ->> 'type' WHEN 'noul' THEN (a.v ->> 'noul')::float
                   WHEN 'choice' THEN (a.v -> 'probabilities' ->> (a.v ->> 'choice'))::float END,
               CASE WHEN a.v ->> 'type' = 'choice' AND a.v -> 'probabilities' ? value
                   THEN a.v ->> 'choice' END,
               positive ? value, negative ? value,
               CASE WHEN a.v ->> 'type' = 'score' THEN (a.v - 'score')::text END
        FROM last CROSS JOIN LATERAL (SELECT answers -> asked AS v) a"""  # noqa: S608 - own text
    found: dict[tuple[Any, ...], list[Labelled]] = defaultdict(list)
    with _wide():
        rows = _rows(sql, name, name, name, since, key_id)
    for version, model, key, question, value, p, chosen, is_yes, is_no, levels in rows:
        outcome = True if is_yes else False if is_no else None
        if levels is not None:
            p, named = _level(json.loads(levels), value)
            outcome = outcome if named is None else named
        elif chosen is not None:  # the label names one of the options
            outcome = value == chosen
        found[version, model, key, question].append(Labelled(value, p, outcome))
    return found


def _level(answer: dict[str, Any], value: str) -> tuple[float | None, bool | None]:
    """p of a score's most likely level, and whether a label names that one; None for one that names none."""
    probabilities: dict[str, float] = answer.get("probabilities") or {}
    if not probabilities:
        return None, None
    top = max(probabilities, key=lambda n: probabilities[n])
    legend = answer.get("legend") or {}
    if value in probabilities:
        return probabilities[top], value == top
    names = [n for n, level in legend.items() if level == value]
    return probabilities[top], top in names if names else None


def label_counts() -> dict[str, int]:
    """Labelled runs and questions by judgment."""
    sql = """
        SELECT judgment, count(*) FROM (
            SELECT judgment FROM judgments_runevent WHERE kind = 'label' GROUP BY judgment, run_id, question
        ) AS once GROUP BY judgment"""
    with _wide():
        return {judgment: n for judgment, n in _rows(sql)}


def _of_key(key_id: int | None) -> str:
    return "" if key_id is None else "AND r.api_key_id = %s"


def _rows(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [value for value in params if value is not None])
        return list(cursor.fetchall())


@contextmanager
def _wide() -> Iterator[None]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WORK_MEM)
        yield
