"""Cards of the same name that come at once become agents of different slugs; one key makes one of them."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from django.db import connections
from rest_framework.test import APIClient

from synth import selectors as core
from synth.services import keys, people

pytestmark = pytest.mark.django_db(transaction=True)
CARD = json.dumps({"spec": "chara_card_v2", "data": {"name": "Mara", "description": "Keeps a light."}})


def at_once(n, **headers):
    """The answers to `n` imports that begin together."""
    person = people.make_operator(people.ensure("olga"), by=None, door="command")
    bearer = f"Bearer {keys.issue(person, role='operator').plain}"
    gate = threading.Barrier(n)
    answers: list[Any] = []

    def one():
        try:
            client = APIClient()
            gate.wait(30)
            answers.append(
                client.generic(
                    "POST", "/api/agents/import/", CARD, content_type="application/json",
                    HTTP_AUTHORIZATION=bearer, **headers,
                )
            )  # fmt: skip
        finally:
            connections.close_all()

    threads = [threading.Thread(target=one) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_each_gets_a_slug_of_its_own():
    answers = at_once(4)
    assert [answer.status_code for answer in answers] == [201] * 4
    assert {answer.json()["agent"]["slug"] for answer in answers} == {"mara", "mara-2", "mara-3", "mara-4"}


def test_one_key_makes_one_agent():
    answers = at_once(4, HTTP_IDEMPOTENCY_KEY="k1")
    assert [answer.status_code for answer in answers] == [201] * 4
    assert len({json.dumps(answer.json(), sort_keys=True) for answer in answers}) == 1
    assert core.agents().filter(name="Mara").count() == 1
