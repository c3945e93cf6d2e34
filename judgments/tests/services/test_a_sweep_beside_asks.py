"""A wording that is asked again while the sweep takes those without runs stays, and the sweep goes on."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.utils import timezone

from judgments.models import JudgmentVersion, Run
from judgments.services import retention
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
