"""A worker that is killed under load leaves no asker waiting, and the next one serves soon."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from synth.inference import queue
from synth.tests.inference.serving import a_worker, at_once, end, outcome, start_worker, wait_served

ENDS = {"answered", "NoWorker", "Overloaded", "Late"}


def client(stop: threading.Event, found: list[tuple[str, float]], deadline_s: float) -> None:
    n = 0
    while not stop.is_set():
        started = time.monotonic()
        word = outcome({"n": n, "who": threading.get_ident(), "sleep_ms": 10}, deadline_s)
        found.append((word, time.monotonic() - started))
        n += 1
        if word != "answered":
            time.sleep(0.05)


@pytest.mark.alone
def test_every_ask_of_64_clients_ends_in_time_and_the_next_start_serves_within_15_s():
    with a_worker() as process:
        stop = threading.Event()
        found: list[tuple[str, float]] = []

        def kill():
            time.sleep(2)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)
            time.sleep(1)
            second = start_worker()
            time.sleep(5)
            took = wait_served(30)
            time.sleep(3)
            mark = len(found)
            time.sleep(1)
            late = Counter(word for word, _ in found[mark:])
            stop.set()
            end(second)
            return took, late

        results = at_once([kill, *[lambda: client(stop, found, 3.0)] * 64])
        took, late = results[0]
        words = Counter(word for word, _ in found)
        assert set(words) <= ENDS, words
        assert words["answered"] > 100 and words["answered"] < len(found)
        assert max(seconds for _, seconds in found) < 3.0 + 2.0
        assert took + 5 < 15
        assert late["answered"] > 0


def test_an_ask_that_kills_the_worker_does_not_kill_the_next_one():
    with a_worker() as process:
        word = outcome({"die": True}, 6.0)
        process.wait(timeout=10)
        assert word in {"NoWorker", "Late"}
        second = start_worker()
        try:
            wait_served()
            assert outcome({"n": 1}) == "answered"
        finally:
            end(second)


@pytest.mark.slow
def test_who_waits_for_a_killed_worker_hears_of_it_though_another_has_its_place():
    with a_worker() as process, ThreadPoolExecutor(1) as pool:
        lost = pool.submit(outcome, {"sleep_ms": 30_000}, 60.0)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        second = start_worker()
        try:
            assert lost.result(timeout=30) == "NoWorker"
            assert queue.is_served() and outcome({"n": 1}) == "answered"
        finally:
            end(second)


def test_a_worker_told_to_stop_ends_well_and_takes_its_sign_down():
    with a_worker() as process:
        process.terminate()
        assert process.wait(timeout=15) == 0
        assert not queue.is_served()
