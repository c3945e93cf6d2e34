"""Saving a run after an ask opens no connection and takes two statements; `bench.connections` times it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from judgments import registry
from judgments.services import runs
from synth.net import database


@pytest.mark.django_db(transaction=True)
def test_a_run_is_saved_on_the_connection_that_was_left_with_two_statements(rain: str) -> None:
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
    assert [query["sql"].split()[0] for query in sent.captured_queries] == ["SELECT", "INSERT"]
    assert backend() == first
