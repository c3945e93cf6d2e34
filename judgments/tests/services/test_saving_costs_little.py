"""Saving a run after an ask opens no connection and takes one statement; `bench.connections` times it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from judgments import registry
from judgments.models import Run
from judgments.services import runs
from synth.net import database


@pytest.mark.django_db(transaction=True)
def test_a_run_is_saved_on_the_connection_that_was_left_with_one_statement(rain: str) -> None:
    questions = registry.get(rain).questions or ()

    def save() -> None:
        draft = runs.Draft(rain, questions, {"text": "A boat and a garden. " * 40}, "on", now())
        draft.answers = {"q": {"type": "noul", "noul": 0.9}}
        assert runs.save(draft)

    def backend() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])

    save()
    first = backend()
    database.leave()
    with CaptureQueriesContext(connection) as sent:
        save()
    assert [query["sql"].split()[0] for query in sent.captured_queries] == ["INSERT"]
    assert backend() == first


FULL: dict[str, Any] = {
    "is_asked": False, "skipped": "off", "origin": "served", "host": "h" * 301, "model": "m",
    "failure": "late", "served_model": "Ä\U0001f600",
    "answers": {"q": {"noul": 0.1, "x": None}}, "usage": {"input_tokens": 3},
    "failure_text": "too late", "latency_ms": 1.25, "session_id": "api:1", "session_model": "s",
    "chain_link": "a.b/1", "quotes": ["a.b/00000000-0000-0000-0000-000000000001"], "is_test": True,
    "positive": ["yes"], "negative": ["no", "1"],
}  # fmt: skip


STATES = [
    "it's 100 % \\ \"said\" %(at)s", {"b": [1, None], "a": "Ä"}, ["\x00", "\ud800"], "x" * 20_000,
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("more", [{}, FULL])
@pytest.mark.parametrize("state", STATES)
def test_the_statement_writes_what_the_orm_writes(rain: str, state: object, more: dict[str, Any]) -> None:
    questions, at = registry.get(rain).questions or (), now()
    one, other = (runs.insert(runs.Draft(rain, questions, state, "on", at, **more)) for _ in range(2))
    kept: list[dict[str, Any]] = [dict(Run.objects.filter(pk=row.pk).values().get()) for row in (one, other)]
    new_bytes = kept[0].pop("n_bytes") - kept[1].pop("n_bytes")
    assert new_bytes > 0 and kept[0].pop("id") != kept[1].pop("id")
    assert kept[0] == kept[1] and other.version_id == one.version_id


@pytest.mark.django_db
def test_another_wording_is_not_taken_for_this_one(rain: str) -> None:
    (question,) = registry.get(rain).questions or ()
    other = replace(question, instructions="Another.")
    rows = [runs.insert(runs.Draft(rain, [q], "Clouds.", "on", now())) for q in (question, other) * 2]
    versions = [row.version_id for row in rows]
    assert versions[:2] == versions[2:] and len(set(versions)) == 2
    assert [Run.objects.get(pk=row.pk).version_id for row in rows] == versions
