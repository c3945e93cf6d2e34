"""A wording that is asked again while the sweep takes those without runs stays, and the sweep goes on."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from judgments import registry
from judgments.models import JudgmentVersion, Run
from judgments.services import retention, runs
from judgments.services.asking import judge
from synth.rowqueue.deadline import Deadline


def test_a_wording_asked_again_in_between_stays(judgments, rain):
    judgments.answer(rain, 0.9)
    judge(rain, "x", session="api:test")
    Run.objects.all().delete()
    found: list[str | None] = []

    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        # Django has looked for runs of the wording, and is about to delete it.
        if not found and sql.startswith("SELECT") and '"judgments_judgmentversion"' in sql and "NOT" in sql:
            found.append(judge(rain, "y", session="api:test").run_id)
        return result

    with connection.execute_wrapper(meanwhile):
        counts = retention.sweep(timezone.now(), Deadline(30))
    assert found and found[0] and counts["versions"] == 0
    assert str(Run.objects.get()) == found[0] and JudgmentVersion.objects.count() == 1
    Run.objects.all().delete()
    assert retention.sweep(timezone.now(), Deadline(30))["versions"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_wording_stays_for_a_run_that_is_not_committed_yet(rain: str) -> None:
    """As of a background ask, which is saved in one transaction with what its handler does."""
    draft = partial(runs.Draft, rain, registry.get(rain).questions or (), "Clouds.", "on", timezone.now())
    runs.insert(draft())
    Run.objects.all().delete()

    def sweep() -> None:
        retention.sweep(timezone.now(), Deadline(30))
        connection.close()

    with transaction.atomic():
        row = runs.insert_late(draft())
        thread = threading.Thread(target=sweep)
        thread.start()
        thread.join(1)
    thread.join(30)
    assert Run.objects.get() == row and JudgmentVersion.objects.get() == row.version
