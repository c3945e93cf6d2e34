"""The idle connections of this process: given back at each `close()`, taken by whoever connects next.

Nothing waits here and nothing is opened ahead: without an idle connection the caller opens one itself and
hears at once when the server is down. So there are never more connections than threads that use one.
"""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

IDLE_S = 30.0
Params = dict[str, Any]
Connection = psycopg.Connection[Any]


@dataclass(frozen=True)
class Idle:
    """A connection nobody uses, how it was made, and since when (monotonic) it is idle."""

    connection: Connection
    params: Params
    since: float


class Shelf:
    """Newest last, and the newest is taken first, so that the rest may grow old and be closed."""

    def __init__(self) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._idle: deque[Idle] = deque()
        self._has_sweeper = False
        self._of_the_parent: list[Idle] = []

    def __len__(self) -> int:
        return len(self._idle)

    def put(self, connection: Connection, params: Params, limit: int) -> bool:
        """Keep a connection unless `limit` are here; False: it is still the caller's, to close.

        Everything a session can hold (settings, locks, cursors, LISTEN) ends here, not at the next use.
        """
        if len(self._idle) >= limit or not _is_clean(connection):
            return False
        try:
            connection.execute("DISCARD ALL")
        except psycopg.Error:
            return False
        with self._lock:
            if len(self._idle) >= limit:
                return False
            self._idle.append(Idle(connection, params, time.monotonic()))
            if not self._has_sweeper:
                self._has_sweeper = True
                threading.Thread(target=self._sweep, name="idle-connections", daemon=True).start()
        return True

    def take(self, params: Params) -> Connection | None:
        """A living connection made with these parameters; dead and other ones met on the way are closed."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                last = self._idle.pop()
            if last.params == params and _is_quiet(last.connection):
                return last.connection
            last.connection.close()

    def clear(self) -> None:
        """Close all of them."""
        with self._lock:
            all_idle = list(self._idle)
            self._idle.clear()
            self._lock.notify_all()
        for idle in all_idle:
            idle.connection.close()

    def forget(self) -> None:
        """In a forked child: the sockets are the parent's, so nothing is closed and nothing is used."""
        self._of_the_parent += self._idle
        self._lock, self._idle = threading.Condition(threading.Lock()), deque()
        self._has_sweeper = False

    def _sweep(self) -> None:
        """Close what was idle for `IDLE_S`; ends when nothing is left."""
        while True:
            with self._lock:
                if not self._idle:
                    self._has_sweeper = False
                    return
                left_s = self._idle[0].since + IDLE_S - time.monotonic()
                if left_s > 0:
                    self._lock.wait(min(left_s, IDLE_S))
                    continue
                old = self._idle.popleft()
            old.connection.close()


def _is_clean(connection: Connection) -> bool:
    return (
        not connection.closed
        and connection.autocommit
        and connection.pgconn.transaction_status == TransactionStatus.IDLE
    )


def _is_quiet(connection: Connection) -> bool:
    """Whether the server has said nothing since: a server that ended the session closed its socket."""
    try:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)
    except psycopg.Error:
        return False


shelf = Shelf()
atexit.register(shelf.clear)
os.register_at_fork(after_in_child=shelf.forget)
