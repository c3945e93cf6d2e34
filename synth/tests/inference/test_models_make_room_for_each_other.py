"""A load that doesn't fit sends the least recently used model away, or is refused with the numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from synth.inference import queue, tiers
from synth.inference.residents import Residents
from synth.inference.runners import Stub
from synth.inference.worker import Serving
from synth.tests.inference.serving import clear


class Machine:
    """So many MiB, less what the twins on it have loaded."""

    def __init__(self, mib: int, resident: int = 8) -> None:
        self.mib = mib
        self.tier = tiers.Tier("test", "float32", 0, resident)
        self.loaded: dict[str, int] = {}
        self.loads: list[str] = []

    def free(self) -> int:
        return self.mib - sum(self.loaded.values())

    def makers(self, **sizes: int) -> dict[str, Callable[[], Stub]]:
        return {name: partial(Sized, self, name, size) for name, size in sizes.items()}


class Sized(Stub):
    """A twin that takes memory on its machine."""

    def __init__(self, machine: Machine, name: str, mib: int) -> None:
        super().__init__()
        self.machine, self.name, self.needs_mib = machine, name, mib

    def load(self) -> None:
        self.machine.loaded[self.name] = self.needs_mib
        self.machine.loads.append(self.name)

    def unload(self) -> None:
        del self.machine.loaded[self.name]


@pytest.fixture
def start():
    clear()
    stop = threading.Event()
    threads = []

    def begin(machine: Machine, **sizes: int) -> None:
        residents = Residents(machine.makers(**sizes), free_mib=machine.free, tier=lambda: machine.tier)
        threads.append(threading.Thread(target=Serving(residents, stop).serve))
        threads[0].start()
        end = time.monotonic() + 20
        while not queue.is_served() and time.monotonic() < end:
            time.sleep(0.02)

    yield begin
    stop.set()
    for thread in threads:
        thread.join(20)
    clear()


def ask(kind: str, priority: str = "IMPORTANT", n: int = 0) -> dict[str, object]:
    return queue.ask(kind, {"n": n}, deadline=time.time() + 20, priority=priority)


def test_the_model_used_longest_ago_goes_and_comes_back_when_it_is_asked(start):
    machine = Machine(1_000)
    start(machine, a=400, b=400, c=400)
    for n, kind in enumerate("abac"):
        ask(kind, n=n)
    assert set(machine.loaded) == {"a", "c"}
    assert ask("b")["n"] == 1
    assert set(machine.loaded) == {"c", "b"} and machine.loads == list("abcb")


def test_what_fits_nowhere_is_refused_with_numbers_and_nothing_goes_for_it(start):
    machine = Machine(1_000)
    start(machine, a=400, giant=2_000)
    ask("a")
    with pytest.raises(queue.NoWorker, match="giant needs 2000 MiB; 1000 MiB are free") as caught:
        ask("giant")
    assert caught.value.reason == "no_memory"
    assert set(machine.loaded) == {"a"}


def test_as_many_models_stay_as_the_tier_has_places(start):
    machine = Machine(100_000, resident=2)
    start(machine, a=1, b=1, c=1)
    for kind in "abc":
        ask(kind)
    assert set(machine.loaded) == {"b", "c"}


def test_a_nice_ask_sends_no_model_away_that_matters_more(start):
    machine = Machine(1_000)
    start(machine, chat=600, nice=600, other=300)
    ask("chat", "CHAT")
    ask("other", "NICE")
    with pytest.raises(queue.NoWorker, match="nice needs 600 MiB; 400 MiB are free"):
        ask("nice", "NICE")
    assert set(machine.loaded) == {"chat", "other"}
    assert ask("nice", "IMPORTANT")["n"] == 1
    assert set(machine.loaded) == {"other", "nice"}


def test_kinds_of_one_maker_share_one_model():
    machine = Machine(2_000)
    make = machine.makers(both=1_200)["both"]
    residents = Residents(
        {"first": make, "second": make, **machine.makers(other=500)},
        free_mib=machine.free,
        tier=lambda: machine.tier,
    )
    first, second = residents.get("first", "IMPORTANT"), residents.get("second", "NICE")
    assert first is second and machine.loads == ["both"]
    assert residents.get("other", "IMPORTANT") is not first and machine.loads == ["both", "other"]
