"""A time limit that is handed down to every blocking step, and loops that survive a bad item."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import structlog

T = TypeVar("T")
# Set once this process has been asked to end: loops finish the row at hand and leave the rest to others.
_is_ending = threading.Event()
log = structlog.get_logger(__name__)


class Deadline:
    """`seconds` from now, on the monotonic clock: steps of the wall clock do not move it."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether no time is left, or the process is ending."""
        return self.remaining_s <= 0 or _is_ending.is_set()


def end_all() -> None:
    """Let every deadline of this process be over."""
    _is_ending.set()


@dataclass
class Tally:
    """What a loop did: items done, items that raised, items left for the next tick when time ran out."""

    n_done: int = 0
    n_failed: int = 0
    n_left: int = 0


def each(items: Iterable[T], step: Callable[[T], object], deadline: Deadline, *, what: str) -> Tally:
    """Run `step` on every item; one that raises is logged under `what` and the others still run."""
    tally = Tally()
    for item in items:
        if deadline.is_over:
            tally.n_left += 1
            continue
        try:
            step(item)
            tally.n_done += 1
        except Exception:  # noqa: BLE001 - one bad row must not stop the rows behind it
            tally.n_failed += 1
            log.exception("item_failed", what=what, item=str(item))
    if tally.n_left:
        log.warning("tick_out_of_time", what=what, n_left=tally.n_left)
    return tally
