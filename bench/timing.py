"""Times calls one by one and prints them as one table: median, 95th percentile, ratio to ours."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Line:
    """One row of the table; `ms` in the order of the calls."""

    what: str
    ms: list[float] = field(default_factory=list)
    note: str = ""

    @property
    def median(self) -> float:
        """Half of the calls were faster."""
        return statistics.median(self.ms)

    @property
    def p95(self) -> float:
        """95 of 100 calls were at least as fast."""
        return sorted(self.ms)[max(0, -(-len(self.ms) * 95 // 100) - 1)]


def measure(
    what: str,
    call: Callable[[Any], Any],
    arguments: Iterable[Any],
    note: str = "",
    clock: Callable[[], float] = time.perf_counter,
) -> Line:
    """Time `call` on each argument, in milliseconds. `time.process_time` leaves out waiting for a core."""
    line = Line(what, note=note)
    for argument in arguments:
        start = clock()
        call(argument)
        line.ms.append((clock() - start) * 1000)
    return line


def table(lines: Iterable[Line], ours: Line | None = None) -> str:
    """Lines of text: what, calls, median, p95, ratio of medians to `ours` where given."""
    shown = [f"{'':44} {'n':>5} {'median':>10} {'p95':>10} {'ratio':>8}"]
    for line in lines:
        ratio = f"{line.median / ours.median:8.1f}" if ours is not None and ours.median else " " * 8
        shown.append(
            f"{line.what:44} {len(line.ms):5} {line.median:7.2f} ms {line.p95:7.2f} ms "
            f"{ratio} {line.note}".rstrip()
        )
    return "\n".join(shown)
