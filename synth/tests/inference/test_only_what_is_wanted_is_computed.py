"""What nobody waits for is not computed, what two ask is computed once; batches keep to a budget."""

from __future__ import annotations

import threading
import time

import pytest
import redis

from synth.inference import queue, wanted, wire
from synth.inference.runners import Stub
from synth.inference.worker import Serving, batches
from synth.tests.inference.serving import clear

RAN: list[str] = []


class Noted(Stub):
    """A twin that notes what it ran."""

    def run(self, batch):
        RAN.extend(payload["name"] for payload in batch)
        return super().run(batch)


def put(name: str, id: str = "", kind: str = "stub", seconds: float = 60.0, sleep_ms: int = 0) -> str:
    payload = {"name": name, "sleep_ms": sleep_ms}
    made = wire.envelope(id or f"id-{name}", kind, payload, time.time() + seconds)
    queue.client().rpush(wire.queue_key("IMPORTANT"), made.dumps())
    return made.id


@pytest.fixture
def serving():
    clear()
    RAN.clear()
    yield Serving({"stub": Noted, "other": Noted}, threading.Event())
    clear()


def is_answered(id: str) -> bool:
    return bool(queue.client().delete(wire.reply_key(id)))


def test_asks_that_are_cancelled_or_late_when_they_are_taken_do_not_run(serving):
    queue.cancel(put("cancelled"))
    put("late", seconds=-0.1)
    wanted = put("wanted")
    assert serving.turn() == 3
    assert RAN == ["wanted"] and is_answered(wanted)


def test_asks_that_are_no_longer_wanted_when_their_batch_comes_do_not_run(serving):
    """One take may be many batches, and the first of them may last longer than the others have."""
    first = put("first", sleep_ms=300)
    put("late", kind="other", seconds=0.15)
    wanted = put("wanted", kind="other")
    assert serving.turn() == 3
    assert RAN == ["first", "wanted"]
    assert is_answered(first) and is_answered(wanted)


def test_the_same_ask_runs_though_the_first_who_asked_is_gone(serving):
    put("first", sleep_ms=300)
    put("same", id="gone", kind="other", seconds=0.15)
    stays = put("same", id="stays", kind="other")
    serving.turn()
    assert RAN == ["first", "same"] and is_answered(stays)


def test_the_same_ask_of_many_runs_once_and_all_are_answered(serving):
    ids = [put("same", id=f"id-{n}") for n in range(5)]
    assert serving.turn() == 5
    assert RAN == ["same"]
    assert [is_answered(id) for id in ids] == [True] * 5


class Long(Stub):
    """Computes for two seconds, and looks between its steps."""

    def run(self, batch):
        RAN.extend(payload["name"] for payload in batch)
        for n in range(100):
            time.sleep(0.02)
            if batch[0]["name"] == "dropped" and n == 5:
                queue.cancel("id-dropped")
            wanted.look()
        return super().run(batch)


@pytest.fixture
def long():
    clear()
    RAN.clear()
    yield Serving({"stub": Long}, threading.Event())
    clear()


@pytest.mark.parametrize(("name", "seconds"), [("late", 0.3), ("dropped", 60.0)])
def test_what_is_computed_ends_when_nobody_waits_any_more(long, name, seconds):
    """One long ask must not hold up everybody after its own asker is gone."""
    ids = [put(name, seconds=seconds), put("beside", seconds=0.3)]
    started = time.monotonic()
    assert long.turn() == 2
    assert time.monotonic() - started < 1.0
    assert RAN == [name, "beside"], "it is no failure, after which each is tried alone"
    raw = queue.client().lpop(wire.reply_key(ids[0]))
    assert wire.read_reply(str(raw)) == wire.Problem("late", "Nobody waits for it any more.")
    assert is_answered(ids[1])


def test_what_one_of_many_still_waits_for_is_computed_to_its_end(long):
    put("same", id="gone", seconds=0.3)
    stays = put("same", id="stays")
    long.turn()
    assert RAN == ["same"]
    assert "answer" in str(queue.client().lpop(wire.reply_key(stays)))


def test_a_look_without_redis_goes_by_the_deadline(long, monkeypatch):
    ask = wire.envelope("id", "stub", {}, time.time() + 60)
    late = wire.envelope("id", "stub", {}, time.time() - 1)

    def gone(asks):
        raise redis.ConnectionError("gone")

    monkeypatch.setattr(long, "_wanted", gone)
    assert long._is_any_wanted([ask]) and not long._is_any_wanted([late])


def test_a_look_elsewhere_than_in_the_worker_does_nothing():
    wanted.look()


def of_sizes(*sizes: int) -> list[wire.Envelope]:
    return [wire.Envelope(str(n), "stub", {}, 0.0, str(n), size) for n, size in enumerate(sizes)]


def test_batches_go_by_length_and_keep_to_the_budget():
    found = [[ask.size for ask in batch] for batch in batches(of_sizes(50, 10, 40, 10, 200, 30), budget=100)]
    assert found == [[10, 10, 30], [40, 50], [200]]
