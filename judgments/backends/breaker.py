"""Spares a host that is down, and our own threads: a circuit breaker and a limit of asks at once, per host.

After five failures in a row (unreachable, timeout, overloaded) the circuit opens: asks fail at once with
the last failure's word. After ten seconds one ask may try; it closes the circuit or opens it again, for
twice as long, up to a minute. A host that refuses or answers badly is up, so that counts as success here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from judgments.backends.types import Failure, HostConfig

_COUNTED = frozenset({"unreachable", "timeout", "overloaded"})
_FAILURES = 5
_FIRST_OPEN_S, _LONGEST_OPEN_S = 10.0, 60.0


@dataclass
class Breaker:
    """The state of one host. Times are seconds of one monotonic clock, given by the caller."""

    n_failures: int = 0
    word: str = ""
    opened_until: float = 0.0
    open_s: float = _FIRST_OPEN_S
    is_trying: bool = False

    def enter(self, at: float) -> bool:
        """Let an ask through, True for the one that tries; else raise the open circuit's Failure."""
        if self.n_failures < _FAILURES:
            return False
        if at < self.opened_until or self.is_trying:
            wait_s = max(self.opened_until - at, 0.0)
            raise Failure(self.word, f"The circuit is open; the next try is in {wait_s:.0f} s.")
        self.is_trying = True
        return True

    def leave(self, at: float, word: str | None, is_try: bool = False) -> None:
        """Count how the ask ended; `word` is None for an answer, `cancelled` for nothing learned."""
        self.is_trying = self.is_trying and not is_try
        if word == "cancelled":
            return
        if word not in _COUNTED:
            self.n_failures, self.open_s = 0, _FIRST_OPEN_S
            return
        self.n_failures += 1
        self.word = str(word)
        if self.n_failures >= _FAILURES and at >= self.opened_until:
            self.open_s = min(self.open_s * 2, _LONGEST_OPEN_S) if is_try else _FIRST_OPEN_S
            self.opened_until = at + self.open_s


@dataclass
class _Host:
    breaker: Breaker = field(default_factory=Breaker)
    n_running: int = 0


class Hosts:
    """The hosts of this process."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[str, str], _Host] = {}
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, host: HostConfig, deadline: float) -> Iterator[None]:
        """Hold one of the host's places. Failure `timeout` when none is free in time, or a circuit's."""
        with self._changed:
            entry = self._hosts.setdefault((host.base_url, host.path), _Host())
            is_try = entry.breaker.enter(time.monotonic())
            while entry.n_running >= host.max_at_once:
                if not self._changed.wait(max(deadline - time.monotonic(), 0.0)):
                    entry.breaker.leave(time.monotonic(), "cancelled", is_try)
                    raise Failure("timeout", "Too many asks wait for this host.")
            entry.n_running += 1
        word: str | None = "cancelled"
        try:
            yield
            word = None
        except Failure as failure:
            word = failure.word
            raise
        finally:
            with self._changed:
                entry.n_running -= 1
                entry.breaker.leave(time.monotonic(), word, is_try)
                self._changed.notify_all()

    def forget(self) -> None:
        """For tests: every circuit is closed again."""
        with self._changed:
            self._hosts.clear()


hosts = Hosts()
