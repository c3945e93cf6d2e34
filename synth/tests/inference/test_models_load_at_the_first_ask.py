"""An idle worker holds no model: the first ask loads it, and it is let go when nobody asks for a while."""

from __future__ import annotations

import threading
import time

import pytest

from synth.inference import queue, wire
from synth.inference.runners import Stub
from synth.inference.worker import Serving
from synth.tests.inference.serving import clear

MADE: list[Stub] = []


class Short(Stub):
    """A twin that is let go after half a second."""

    keep_alive_s = 0.5

    def __init__(self) -> None:
        super().__init__()
        MADE.append(self)


@pytest.fixture
def serving():
    clear()
    MADE.clear()
    stop = threading.Event()
    thread = threading.Thread(target=Serving({"stub": Short}, stop).serve)
    thread.start()
    yield
    stop.set()
    thread.join(20)
    clear()


def ask(text: str) -> dict[str, object]:
    return queue.ask("stub", {"text": text}, deadline=time.time() + 20)


def until(condition) -> bool:
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


def test_nothing_is_loaded_until_somebody_asks_and_it_goes_again(serving):
    assert until(lambda: queue.client().exists(wire.ALIVE_KEY))
    assert MADE == []
    assert ask("one")["n"] == 1
    assert len(MADE) == 1 and MADE[0].is_loaded
    assert until(lambda: not MADE[0].is_loaded)
    assert ask("two")["n"] == 1
    assert len(MADE) == 2
