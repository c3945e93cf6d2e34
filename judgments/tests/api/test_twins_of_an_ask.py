"""Asks sent at the same time under one Idempotency-Key: one is asked, none breaks."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

import pytest
from django.db import connection

from judgments.models import Run
from judgments.services import asking
from synth.services import keys, people

N = 8


@pytest.fixture
def post(transactional_db, client, rain, no_limits):
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    key = keys.issue(olga, role="operator", scopes=[]).plain

    def send(body, key_header):
        try:
            return client.post(
                f"/api/judgments/{rain}/ask/",
                json.dumps(body),
                content_type="application/json",
                headers={"Idempotency-Key": key_header, "Authorization": f"Bearer {key}"},
            ).status_code
        finally:
            connection.close()

    return send


def together(part) -> Counter[int]:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(part())) for _ in range(N)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(found)


def test_one_of_many_twins_is_asked(post, judgments, rain, monkeypatch):
    real = asking.ask

    def slow(*args, **kwargs):
        time.sleep(0.3)
        return real(*args, **kwargs)

    monkeypatch.setattr(asking, "ask", slow)
    judgments.answer(rain, 0.9)
    assert together(lambda: post({"state": "x"}, "k")) == {200: 1, 409: N - 1}
    assert Run.objects.filter(judgment=rain).count() == 1 and post({"state": "x"}, "k") == 200
    assert Run.objects.filter(judgment=rain).count() == 1


def test_twins_of_an_ask_that_is_refused_are_refused(post):
    for n in range(5):
        assert set(together(lambda n=n: post({"state": "x", "unknown": 1}, f"k{n}"))) <= {400, 409}


def test_a_kept_answer_is_not_for_a_key_that_may_not_ask(db, client, judgments, rain, no_limits):
    judgments.answer(rain, 0.9)
    people.ensure("pia")
    found = []
    for scope in ("systemone", "chat"):
        key = keys.issue(people.ensure(f"app-{scope}"), role="app", scopes=[scope]).plain
        headers = {"Idempotency-Key": "k", "Authorization": f"Bearer {key}", "X-Person": "pia"}
        url, body = f"/api/judgments/{rain}/ask/", json.dumps({"state": "x"})
        found.append(client.post(url, body, content_type="application/json", headers=headers).status_code)
    assert found == [200, 403]
