"""Idempotency-Key: one effect, one answer, also for twins at the same time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from synth.models import Agent, DiaryEntry, IdempotentAnswer
from synth.services import agents, diary, keys, people

URL = "/api/agents/wren/diary/"


def test_a_repeat_replays_the_answer(trainer: APIClient, agent: Agent) -> None:
    first = trainer.post(URL, {"content": "x", "tags": ["a"]}, HTTP_IDEMPOTENCY_KEY="k1")
    again = trainer.post(URL, {"tags": ["a"], "content": "x"}, HTTP_IDEMPOTENCY_KEY="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first.headers
    assert DiaryEntry.objects.count() == 1


def test_another_request_under_the_key_is_refused(trainer: APIClient, agent: Agent) -> None:
    trainer.post(URL, {"content": "x"}, HTTP_IDEMPOTENCY_KEY="k1")
    for answer in (
        trainer.post(URL, {"content": "y"}, HTTP_IDEMPOTENCY_KEY="k1"),
        trainer.post("/api/agents/wren/memories/", {"text": "x"}, HTTP_IDEMPOTENCY_KEY="k1"),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")


def test_both_forms_of_the_path_are_one_request(trainer: APIClient, agent: Agent) -> None:
    trainer.post(URL, {"content": "x"}, HTTP_IDEMPOTENCY_KEY="k1")
    assert trainer.post(URL.rstrip("/"), {"content": "x"}, HTTP_IDEMPOTENCY_KEY="k1").status_code == 201
    assert DiaryEntry.objects.count() == 1


def test_a_refusal_is_not_kept(trainer: APIClient, agent: Agent) -> None:
    assert trainer.post(URL, {"content": ""}, HTTP_IDEMPOTENCY_KEY="k1").status_code == 400
    assert not IdempotentAnswer.objects.exists()
    assert trainer.post(URL, {"content": "x"}, HTTP_IDEMPOTENCY_KEY="k1").status_code == 201


def test_keys_of_two_persons_do_not_meet(trainer: APIClient, operator: APIClient, agent: Agent) -> None:
    for client in (trainer, operator):
        assert client.post(URL, {"content": "x"}, HTTP_IDEMPOTENCY_KEY="k1").status_code == 201
    assert DiaryEntry.objects.count() == 2


@pytest.mark.parametrize("key", ["", "x" * 201, "é", "a\tb"])
def test_a_bad_key_is_a_400(trainer: APIClient, agent: Agent, key: str) -> None:
    answer = trainer.post(URL, {"content": "x"}, HTTP_IDEMPOTENCY_KEY=key)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "Idempotency-Key")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_first_refused", [False, True])
def test_twins_at_the_same_time_have_one_effect(monkeypatch, is_first_refused: bool) -> None:
    trainer = people.ensure("tara")
    agents.create(slug="wren", name="Wren", trainers=[trainer])
    plain = keys.issue(trainer, role="trainer").plain
    inside, go_on = threading.Event(), threading.Event()
    write = diary.write

    def slow(*args: Any, **kwargs: Any) -> DiaryEntry:
        row = write(*args, **kwargs)
        if not inside.is_set():
            inside.set()
            go_on.wait(10)
            if is_first_refused:
                raise RuntimeError("the first one breaks after its write")
        return row

    monkeypatch.setattr(diary, "write", slow)
    answers: list[Any] = []

    def post() -> None:
        try:
            client = APIClient()
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}", HTTP_IDEMPOTENCY_KEY="twin")
            answers.append(client.post(URL, {"content": "once"}))
        finally:
            connection.close()

    first, second = threading.Thread(target=post), threading.Thread(target=post)
    first.start()
    assert inside.wait(10)
    second.start()
    second.join(0.5)
    assert second.is_alive(), "the second twin waits for the first"
    go_on.set()
    first.join(10)
    second.join(10)
    assert DiaryEntry.objects.filter(content="once").count() == 1
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == ([201, 500] if is_first_refused else [201, 201])
    if not is_first_refused:
        assert answers[0].json() == answers[1].json()
