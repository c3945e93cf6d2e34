"""Drains share the work: nothing twice, and a slow handler keeps neither others nor the pool waiting."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection, transaction

from synth.models import EventHandling
from synth.services import draining, outbox
from synth.tests.outbox import helpers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    monkeypatch.setattr(outbox, "HANDLERS", {})
    helpers.subscribe()


def in_thread(work) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_eight_drains_handle_each_event_once():
    helpers.publish(40)
    end = time.monotonic() + 60

    def drain_until_empty() -> None:
        while EventHandling.objects.exclude(status="handled").exists() and time.monotonic() < end:
            draining.drain()

    threads = [in_thread(drain_until_empty) for _ in range(8)]
    for thread in threads:
        thread.join(timeout=90)
    assert helpers.rows_by_event() == {f"event:{i}": 1 for i in range(40)}


def test_a_slow_handler_holds_two_drains_and_no_more():
    running, go_on = threading.Semaphore(0), threading.Event()

    def slow(payload) -> None:
        running.release()
        go_on.wait(30)

    outbox.subscribe("test.slow_happened", "test.slow")(slow)
    with transaction.atomic():
        for _ in range(4):
            outbox.publish("test.slow_happened", {})
        outbox.publish(helpers.EVENT, {"id": 0})
    busy = [in_thread(lambda: draining.drain("test.slow")) for _ in range(2)]
    try:
        assert running.acquire(timeout=20)
        assert running.acquire(timeout=20)
        assert draining.drain("test.slow") == 0, "a third drain does not queue behind them"
        assert draining.drain() == 1, "the other handler runs meanwhile"
        assert helpers.rows_by_event() == {"event:0": 1}
    finally:
        go_on.set()
        for thread in busy:
            thread.join(timeout=30)
    assert EventHandling.objects.filter(status="handled").count() == 5


def test_all_handlers_take_turns():
    order: list[str] = []
    outbox.subscribe(helpers.EVENT, "test.second")(lambda payload: order.append("second"))
    outbox.HANDLERS["test.leave_a_row"] = outbox.Subscription(
        "test.leave_a_row", helpers.EVENT, lambda payload: order.append("first")
    )
    helpers.publish(3)
    draining.drain()
    assert order in (["first", "second"] * 3, ["second", "first"] * 3)
