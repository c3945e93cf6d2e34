"""A streamed answer comes in steps; what matters is answered between them, and a killed worker ends it."""

from __future__ import annotations

import threading
import time

import pytest

from synth.inference import queue, tiers
from synth.inference.residents import Residents
from synth.inference.runners import Stub, said
from synth.inference.wire import Problem
from synth.inference.worker import Serving
from synth.tests.inference.serving import a_worker
from synth.tests.llm.local import served, until

FOR = 30.0


class Gated(Stub):
    """Writes "la" until a test opens its gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def stream(self, payload):
        while not self.gate.is_set():
            time.sleep(0.002)
            yield "la "
        return said("gated", "stop", n_prompt=1, n_completion=1)


class Talk:
    """A streamed ask that runs in a thread of its own."""

    def __init__(self, priority: str, payload: object = "x") -> None:
        self.pieces: list[str] = []
        self.deadline = time.time() + FOR
        asked = {"messages": [{"content": payload}], "max_tokens": 9, "priority": priority}
        self.id = queue.begin("generate", asked, deadline=self.deadline, priority=priority)
        self.ended = threading.Event()
        threading.Thread(target=self._wait).start()

    def _wait(self) -> None:
        try:
            queue.wait(self.id, self.deadline, say=self.pieces.append)
        except queue.NoAnswer:
            pass
        self.ended.set()


def ask(priority: str, n: int = 0):
    return queue.ask("stub", {"n": n}, deadline=time.time() + FOR, priority=priority)


@pytest.mark.parametrize("priority", ["CHAT", "NICE"])
def test_judgments_are_answered_while_a_text_is_written(priority):
    gated = Gated()
    with served(generate=lambda: gated, stub=Stub):
        talk = Talk(priority)
        until(lambda: talk.pieces)
        assert [ask("IMPORTANT", n)["echo"]["n"] for n in range(3)] == [0, 1, 2]
        assert not talk.ended.is_set()
        gated.gate.set()
        assert talk.ended.wait(20)


def test_nice_asks_and_other_chats_wait_until_a_chat_is_written():
    gated = Gated()
    with served(generate=lambda: gated, stub=Stub):
        first = Talk("CHAT")
        until(lambda: first.pieces)
        second, nice = Talk("CHAT"), queue.begin("stub", {}, deadline=time.time() + FOR, priority="NICE")
        assert ask("IMPORTANT")
        assert (second.pieces, queue.client().exists(f"synth:infer:reply:{nice}")) == ([], 0)
        gated.gate.set()
        assert first.ended.wait(20) and second.ended.wait(20)
        assert queue.wait(nice, time.time() + FOR)["n"] == 1


def test_a_chat_goes_before_background_writing_that_has_begun():
    class Either(Gated):
        def stream(self, payload):
            return (
                Stub.stream(self, payload) if payload["priority"] == "CHAT" else Gated.stream(self, payload)
            )

    either = Either()
    with served(generate=lambda: either):
        background = Talk("NICE")
        until(lambda: background.pieces)
        chat = Talk("CHAT", "one two")
        assert chat.ended.wait(20)
        assert (chat.pieces, background.ended.is_set()) == (["one", " two"], False)
        either.gate.set()
        assert background.ended.wait(20)


def test_a_model_at_work_makes_no_room_for_another():
    class Sized(Stub):
        needs_mib = 600

    residents = Residents(
        {"chat": Sized, "other": lambda: Sized()},  # two makers: two models
        free_mib=lambda: 1_000 - 600 * len(residents._runners),
        tier=lambda: tiers.Tier("test", "float32", 0, 4),
    )
    residents.get("chat", "CHAT")
    with residents.held("chat"):
        refused = residents.get("other", "IMPORTANT")
    assert isinstance(refused, Problem) and "other needs 600 MiB; 400 MiB are free" in refused.text
    assert isinstance(residents.get("other", "IMPORTANT"), Sized)


def test_a_model_at_work_stays_when_a_chat_in_between_has_ended():
    residents = Residents(
        {"chat": lambda: _sized(600), "other": lambda: _sized(600)},
        free_mib=lambda: 1_000 - 600 * len(residents._runners),
        tier=lambda: tiers.Tier("test", "float32", 0, 4),
    )
    residents.get("chat", "NICE")
    with residents.held("chat"):
        with residents.held("chat"):
            pass
        assert isinstance(residents.get("other", "IMPORTANT"), Problem)
    assert isinstance(residents.get("other", "IMPORTANT"), Stub)


def test_a_model_at_work_takes_one_of_the_places():
    residents = Residents(
        {"chat": Stub, "a": lambda: _sized(1), "b": lambda: _sized(1)},
        free_mib=lambda: 1_000,
        tier=lambda: tiers.Tier("test", "float32", 0, 2),
    )
    residents.get("chat", "CHAT")
    with residents.held("chat"):
        residents.get("a", "IMPORTANT")
        residents.get("b", "IMPORTANT")
        assert set(residents._runners) == {"chat", "b"}


def _sized(mib: int) -> Stub:
    made = Stub()
    made.needs_mib = mib
    return made


def test_a_worker_that_is_killed_while_it_writes_ends_the_answer():
    pieces: list[str] = []
    with a_worker() as process:
        asked = {"messages": [{"content": "one two three four"}], "max_tokens": 9, "die": True}
        until_at = time.time() + FOR
        id = queue.begin("generate", asked, deadline=until_at)
        with pytest.raises(queue.NoWorker):
            queue.wait(id, until_at, say=pieces.append)
        process.wait(timeout=10)
    assert pieces == ["one", " two"]


def test_a_loop_that_is_told_to_stop_ends_what_it_writes():
    gated = Gated()
    with served(generate=lambda: gated) as serving:
        assert isinstance(serving, Serving)
        id = queue.begin("generate", {}, deadline=time.time() + FOR)
        serving_stopped = threading.Timer(0.2, serving.stop.set)
        serving_stopped.start()
        with pytest.raises(queue.NoWorker, match="stops"):
            queue.wait(id, time.time() + FOR)
