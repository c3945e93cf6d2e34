"""A ring is sent once per commit and task, and a broker that is away costs its caller next to nothing."""

from __future__ import annotations

import time

import pytest
from django.db import transaction

from synth import background, liveness

pytestmark = pytest.mark.django_db(transaction=True)


class FakeTask:
    def __init__(self, **request):
        self.request = type("Request", (), request)()


@pytest.fixture
def sent(monkeypatch):
    messages: list[tuple[object, ...]] = []
    monkeypatch.setattr(background, "_quiet_until", 0.0)
    monkeypatch.setattr(background, "_publish", lambda *message: messages.append(message[:2]))
    for args in ((), ("a",), ("b",)):
        liveness.client().delete(background.ring_key("test.task", args))
    return messages


def test_it_is_sent_on_commit_and_not_before(sent):
    with transaction.atomic():
        background.ring("test.task")
        assert sent == []
    assert sent == [("test.task", ())]


def test_it_is_not_sent_after_a_rollback(sent):
    with transaction.atomic():
        background.ring("test.task")
        transaction.set_rollback(True)
    assert sent == []


def test_rings_become_one_until_the_task_begins(sent):
    for _ in range(5):
        background.ring("test.task", "a")
    background.ring("test.task", "b")
    assert sent == [("test.task", ("a",)), ("test.task", ("b",))]
    background.answer_ring(FakeTask(ring=background.ring_key("test.task", ("a",))))
    background.ring("test.task", "a")
    assert sent[2:] == [("test.task", ("a",))]


def test_a_ring_that_could_not_be_sent_leaves_no_mark(sent, monkeypatch):
    def broken(*args):
        raise ConnectionError("broker")

    with monkeypatch.context() as patch:
        patch.setattr(background, "_publish", broken)
        background.ring("test.task")
    assert liveness.client().get(background.ring_key("test.task", ())) is None


def test_a_broker_that_is_away_raises_nothing_and_costs_little(sent, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    began = time.monotonic()
    for _ in range(50):
        background.ring("test.task")
    background.answer_ring(FakeTask(ring="synth:ring:x"))
    assert time.monotonic() - began < 5
    assert sent == []


def test_a_task_nobody_rang_for_needs_no_answer():
    background.answer_ring(FakeTask())
    background.answer_ring(FakeTask(ring=None))
