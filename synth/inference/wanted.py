"""Long computations look between two steps whether anybody still waits for what comes of them.

Whoever computes calls `look`, as often as it likes; the worker says in `looking` what decides. Elsewhere, as
in training, a look does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOOK_S = 0.05  # between two looks that ask; those in between cost nothing


class Unwanted(Exception):
    """Nobody waits for it any more. No failure of whoever computed."""


_look: ContextVar[Callable[[], None] | None] = ContextVar("look", default=None)


def look() -> None:
    """Unwanted when nobody waits for what is computed here."""
    if (found := _look.get()) is not None:
        found()


@contextmanager
def looking(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Inside the block each `look` goes by `is_wanted`, which is asked twenty times a second at most."""
    due = 0.0

    def ask() -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        if not is_wanted():
            raise Unwanted
        due = time.monotonic() + LOOK_S

    token = _look.set(ask)
    try:
        yield
    finally:
        _look.reset(token)
