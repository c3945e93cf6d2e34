"""However many threads want the first client of a process at once, there is one."""

from __future__ import annotations

import threading
import time

import pytest
import redis

from synth.net import clients


def test_threads_that_come_at_once_get_the_same_one(monkeypatch):
    monkeypatch.setattr(clients, "_clients", {})
    made, got, gate = [], [], threading.Barrier(12)

    def make(url: str) -> redis.Redis:
        made.append(url)
        time.sleep(0.02)  # a thread is often interrupted right here
        return redis.Redis.from_url(url)

    def ask() -> None:
        gate.wait()
        got.append(clients.shared("here", make))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(got) == 12 and len(set(map(id, got))) == 1
    assert clients.shared("there", make) is not got[0]


def test_another_address_is_another_client(settings):
    one = clients.shared("here", redis.Redis.from_url)
    settings.REDIS_URL = "redis://127.0.0.1:1/7"
    other = clients.shared("here", redis.Redis.from_url)
    assert other is not one and other.connection_pool.connection_kwargs["db"] == 7


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("redis://127.0.0.1:6379", 0),
        ("rediss://u:p@cache.example:6379/4", 4),
        ("redis://127.0.0.1:6379/4?db=5", 5),
        ("unix:///tmp/redis.sock?db=3", 3),
        ("unix:///tmp/redis.sock", 0),
    ],
)
def test_a_channel_bears_the_number_of_the_database(settings, url, number):
    settings.REDIS_URL = url
    assert clients.channel("bell") == f"{number}/bell"
