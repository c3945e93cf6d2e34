"""Redis clients that all threads of a process share.

A client that nobody holds any more closes the connections of its pool, also one that another thread is just
opening: so two threads that want the first one at once must get the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import lru_cache

import redis
from django.conf import settings

_clients: dict[tuple[int, str, str], redis.Redis] = {}
_lock = threading.Lock()


def shared(name: str, make: Callable[[str], redis.Redis]) -> redis.Redis:
    """The client of that name in this process, made with the address of REDIS_URL by whoever comes first."""
    key = (os.getpid(), settings.REDIS_URL, name)
    found = _clients.get(key)
    if found is None:
        with _lock:
            found = _clients.get(key)
            if found is None:
                found = _clients[key] = make(settings.REDIS_URL)
    return found


def channel(name: str) -> str:
    """The name of a channel of this installation. Redis has one space of channels over all its numbered
    databases, so that of REDIS_URL stands in it: who shares the server hears nothing of ours.
    """
    return f"{_database(settings.REDIS_URL)}/{name}"


@lru_cache(maxsize=8)
def _database(url: str) -> int:
    return int(redis.connection.parse_url(url).get("db", 0))  # type: ignore[no-untyped-call]


def _renew_lock() -> None:
    """A forked child gets no lock that a thread of its parent held."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
