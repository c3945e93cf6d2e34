"""A million rows behind a list cost no more than its page."""

from __future__ import annotations

import time

import pytest
from django.db import connection
from django.test import Client

from synth.models import Agent

MANY = 1_000_000
FILL = {
    "diaryentry": """INSERT INTO synth_diaryentry (agent_id, at, content, source, people, tags, created_at)
        SELECT %(agent)s, now() - n * interval '1 minute', 'entry', 'user', '[]', '[]', now()
        FROM generate_series(1, %(many)s) n""",
    "auditentry": """INSERT INTO synth_auditentry
        (at, actor_label, door, action, object, agent_id, outcome, reason, trace_id)
        SELECT now() - n * interval '1 second', 'olga', 'rest', 'agent_update', 'synth.agent:1', %(agent)s,
        'done', '', '' FROM generate_series(1, %(many)s) n""",
    "eventhandling": """WITH event AS (INSERT INTO synth_outboxevent (name, payload, at)
        SELECT 'synth.tested', '{}', now() FROM generate_series(1, %(many)s) n RETURNING id)
        INSERT INTO synth_eventhandling (event_id, handler, status, n_failures, error, attempt, due_at)
        SELECT id, 'h', CASE WHEN id %% 100000 = 0 THEN 'parked' ELSE 'handled' END, 0, '', 1, now()
        FROM event""",
}


@pytest.mark.alone
@pytest.mark.parametrize("model", list(FILL))
def test_a_list_opens_quickly(operator: Client, trainer: Client, wren: Agent, model: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL[model], {"agent": wren.pk, "many": MANY})
        cursor.execute(f"ANALYZE synth_{model}")
    callers = (operator, trainer) if model == "diaryentry" else (operator,)
    for client in callers:
        client.get("/admin/synth/agent/")
        for path in ("", "?p=1"):
            start = time.perf_counter()
            assert client.get(f"/admin/synth/{model}/{path}").status_code == 200
            assert time.perf_counter() - start < 2
