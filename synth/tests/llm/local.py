"""A worker loop in a thread, and a worker of a few lines that says what a test wrote down."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from synth.inference import queue, wire
from synth.inference.runners import Runner
from synth.inference.worker import Serving
from synth.llm import Sink
from synth.tests.inference.serving import clear


class Heard(Sink):
    """Keeps what it hears; may stop the call after so many pieces."""

    def __init__(self, stop_after: int = 0) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._stop_after = stop_after

    def text(self, piece: str) -> None:
        if piece:
            self.pieces.append(piece)
        if self._stop_after and len(self.pieces) >= self._stop_after:
            self.stop()

    @property
    def all(self) -> str:
        return "".join(self.pieces)


@contextmanager
def served(**makers: Callable[[], Runner]) -> Iterator[Serving]:
    """The real loop with these runners; it signs and takes its sign down."""
    clear()
    serving = Serving(makers, threading.Event())
    thread = threading.Thread(target=serving.serve)
    thread.start()
    try:
        until(queue.is_served)
        yield serving
    finally:
        serving.stop.set()
        thread.join(20)
        clear()


@contextmanager
def scripted(replies: Sequence[str], *, signs_s: float = 60.0) -> Iterator[list[dict[str, Any]]]:
    """Somebody who signs once, takes one ask and pushes these raw replies; the asks it took."""
    clear()
    queue.client().set(wire.ALIVE_KEY, "scripted", px=int(signs_s * 1000))
    taken: list[dict[str, Any]] = []

    def work() -> None:
        found = queue.client().blpop([wire.queue_key(name) for name in wire.PRIORITIES], timeout=10)
        if found is None:
            return
        taken.append(json.loads(found[1]))
        for raw in replies:
            queue.client().rpush(wire.reply_key(taken[0]["id"]), raw)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield taken
    finally:
        thread.join(20)
        clear()


def until(is_so: Callable[[], Any], seconds: float = 20.0) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.01)
