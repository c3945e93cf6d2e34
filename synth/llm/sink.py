"""Where the words of a streamed call go, and the way to end it from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Sink:
    """Takes the words of a call as they come. `stop()` ends the call, also while its host is silent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hang_up: Callable[[], None] | None = None
        self._is_stopped = False

    def text(self, piece: str) -> None:
        """Take some words; called in the thread of the call."""

    def is_stopped(self) -> bool:
        """Whether the call was told to end."""
        return self._is_stopped

    def stop(self) -> None:
        """End the call, now or once it begins. Safe to repeat, from any thread."""
        with self._lock:
            self._is_stopped = True
            if self._hang_up is not None:
                self._hang_up()

    @contextmanager
    def connected(self, hang_up: Callable[[], None]) -> Iterator[None]:
        """While the block runs, a stop calls `hang_up`; at once when it came before."""
        with self._lock:
            self._hang_up = hang_up
            if self._is_stopped:
                hang_up()
        try:
            yield
        finally:
            with self._lock:
                self._hang_up = None
