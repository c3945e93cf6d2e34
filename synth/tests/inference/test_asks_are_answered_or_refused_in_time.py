"""An ask is answered, refused with a reason, or ended at its deadline; it never hangs."""

from __future__ import annotations

import time
from functools import partial

import pytest

from synth.inference import queue, wire
from synth.tests.inference.serving import a_worker, at_once, clear, outcome


@pytest.fixture(scope="module")
def worker():
    with a_worker() as process:
        yield process


@pytest.fixture
def no_worker():
    clear()
    yield
    clear()


def ask(payload, seconds=10.0, **how):
    return queue.ask("stub", payload, deadline=time.time() + seconds, **how)


def test_without_a_worker_an_ask_fails_at_once_and_says_why(no_worker):
    started = time.monotonic()
    with pytest.raises(queue.NoWorker) as caught:
        ask({}, seconds=30)
    assert caught.value.reason == "no_torch_worker"
    assert time.monotonic() - started < 2


def test_a_full_queue_is_refused(no_worker):
    queue.client().set(wire.ALIVE_KEY, "someone", ex=30)
    queue.client().rpush(wire.queue_key("IMPORTANT"), *["x"] * wire.BOUND)
    with pytest.raises(queue.Overloaded):
        ask({})


@pytest.mark.parametrize("priority", ["CHAT", "NICE"])
def test_a_flood_of_one_priority_refuses_no_other(no_worker, priority):
    queue.client().set(wire.ALIVE_KEY, "someone", ex=30)
    queue.client().rpush(wire.queue_key("IMPORTANT"), *["x"] * wire.BOUND)
    assert queue.begin("stub", {}, deadline=time.time() + 1, priority=priority)


def test_a_worker_that_stops_signing_ends_the_asks_that_wait(no_worker):
    queue.client().set(wire.ALIVE_KEY, "someone", px=300)
    started = time.monotonic()
    with pytest.raises(queue.NoWorker):
        ask({}, seconds=30)
    assert time.monotonic() - started < 5


def test_an_ask_that_nobody_answers_ends_at_its_deadline(no_worker):
    queue.client().set(wire.ALIVE_KEY, "someone", ex=30)
    started = time.monotonic()
    with pytest.raises(queue.Late):
        ask({}, seconds=0.5)
    assert 0.4 < time.monotonic() - started < 2


def test_an_ask_is_answered(worker):
    assert ask({"word": "hello"})["echo"] == {"word": "hello"}


def test_a_poisoned_ask_fails_alone(worker):
    calls = [partial(outcome, {"n": n, "poison": n == 7, "sleep_ms": 20}, 20.0) for n in range(24)]
    found = at_once(calls)
    assert found.count("answered") == 23
    assert found[7] == "Rejected"


def queued_behind(payloads):
    """The answers to asks that all queue up while the worker is busy with another."""
    deadline = time.time() + 20
    busy = queue.begin("stub", {"sleep_ms": 1_000, "at": deadline}, deadline=deadline)
    while queue.client().llen(wire.queue_key("IMPORTANT")):
        time.sleep(0.005)
    time.sleep(0.2)  # it looks for more right after it took the first
    asks = [queue.begin("stub", payload, deadline=deadline) for payload in payloads]
    return [queue.wait(one, deadline) for one in (*asks, busy)][:-1]


def test_identical_asks_at_once_are_computed_once(worker):
    found = queued_behind([{"same": 1}] * 12)
    assert {answer["n"] for answer in found} == {1}
    assert len({answer["run"] for answer in found}) == 1


def test_what_queued_meanwhile_is_one_batch(worker):
    assert {answer["n"] for answer in queued_behind([{"mate": n} for n in range(10)])} == {10}


def test_an_asker_may_stop_waiting(worker):
    with pytest.raises(queue.Cancelled):
        ask({"sleep_ms": 300, "cancelled": True}, is_cancelled=lambda: True)


def test_an_unknown_kind_is_unavailable(worker):
    with pytest.raises(queue.NoWorker, match="no astrology"):
        queue.ask("astrology", {}, deadline=time.time() + 5)


def test_important_asks_pass_nice_ones(worker):
    order: list[str] = []

    def tell(name, priority, delay):
        time.sleep(delay)
        ask({"sleep_ms": 150, "name": name}, priority=priority)
        order.append(name)

    calls = [partial(tell, f"nice{n}", "NICE", 0.05) for n in range(12)]
    calls += [partial(tell, "important", "IMPORTANT", 0.2), partial(ask, {"sleep_ms": 150})]
    at_once(calls)
    assert order.index("important") < len(order) - 2


def test_the_way_to_the_worker_and_back_is_short(worker):
    took = []
    for n in range(60):
        started = time.perf_counter()
        ask({"n": n})
        took.append(time.perf_counter() - started)
    assert sorted(took)[30] < 0.05
