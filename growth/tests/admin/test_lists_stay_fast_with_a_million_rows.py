"""No list of growth counts its table, and a million rows behind one cost no more than its page."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from growth.tests.admin.conftest import login

MANY = 1_000_000
FILL = {
    "growthrun": """INSERT INTO growth_growthrun (agent_id, trigger, status, reason, detail, week, is_dry_run,
        is_forced, mode, writer, created_by, n_diary, n_diary_left_out, n_memories, n_calls, n_host_failures,
        guards, fingerprint, created_at, attempt, due_at)
        SELECT %(agent)s, 'manual', CASE WHEN n %% 100000 = 0 THEN 'failed' ELSE 'applied' END, '', '', '',
        false, false, 'on', 'model', 'olive', 1, 0, 0, 1, 0, '[]', '', now() - n * interval '1 minute', 1,
        now()
        FROM generate_series(1, %(many)s) n""",
    "proposal": """INSERT INTO growth_proposal (agent_id, kind, status, base_hash, base_content, base_likes,
        base_dislikes, content, likes, dislikes, evidence, content_hash, is_ungrounded, writer, feedback,
        deliveries, delivery_status, delivery_error, decided_by, decided_door, created_at)
        SELECT %(agent)s, 'growth', CASE WHEN n %% 100000 = 0 THEN 'approved' ELSE 'rejected' END, '', '',
        '[]', '[]', 'I am.', '[]', '[]', '[]', '', false, 'model', '', '[]', 'sent', '', 'olive', 'rest',
        now() - n * interval '1 minute' FROM generate_series(1, %(many)s) n""",
    "growthstate": """INSERT INTO growth_growthstate (agent_id, content, likes, dislikes, created_by, source,
        is_current, evidence, content_hash, is_ungrounded, created_at)
        SELECT %(agent)s, 'I am.', '[]', '[]', 'olive', 'weekly', false, '[]', '', false,
        now() - n * interval '1 minute' FROM generate_series(1, %(many)s) n""",
}
FILTERS = {
    "growthrun": "status__exact=failed",
    "proposal": "status__exact=approved",
    "growthstate": "source__exact=manual",
}


@pytest.mark.parametrize("noun", ["growthsettings", "growthrun", "growthstate", "proposal"])
def test_no_list_counts_and_an_empty_one_says_what_to_do(noun, operator, trainer, stranger, agent):
    for person in (operator, trainer, stranger):
        with CaptureQueriesContext(connection) as seen:
            answer = login(person).get(reverse(f"admin:growth_{noun}_changelist"), {"_facets": "True"})
        assert answer.status_code == 200
        assert not [query["sql"] for query in seen if "COUNT(" in query["sql"]]
    if noun != "growthsettings":
        assert "growth-card" in answer.content.decode()


@pytest.mark.alone
@pytest.mark.parametrize("noun", list(FILL))
def test_a_list_the_desk_and_the_pages_open_quickly(noun, agent, trainer, stranger, operator):
    with connection.cursor() as cursor:
        cursor.execute(FILL[noun], {"agent": agent.pk, "many": MANY})
        cursor.execute(f"ANALYZE growth_{noun}")
    list_path = reverse(f"admin:growth_{noun}_changelist")
    paths = [
        list_path,
        f"{list_path}?{FILTERS[noun]}",
        f"{list_path}?agent={agent.pk}",
        reverse("admin:growth_desk"),
    ]
    slow = []
    for person in (operator, trainer, stranger):
        client: Any = login(person)
        client.get(reverse("admin:index"))
        for path in paths:
            start = time.perf_counter()
            assert client.get(path).status_code == 200
            took = time.perf_counter() - start
            if took > 2:
                slow.append((person.username, path, round(took, 2)))
    assert not slow
