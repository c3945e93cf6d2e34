"""What somebody else left in a list of asks or replies ends neither the loop nor an asker."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from synth.inference import queue, wire
from synth.inference.runners import Stub
from synth.tests.llm.local import scripted, served

SOUND = wire.envelope("a" * 32, "stub", {}, time.time() + 60)
NO_ASKS = [
    "no JSON",
    "[" * 100_000,
    "[1, 2]",
    replace(SOUND, deadline="soon").dumps(),  # type: ignore[arg-type]
    replace(SOUND, kind=["stub"]).dumps(),  # type: ignore[arg-type]
    replace(SOUND, digest={}).dumps(),  # type: ignore[arg-type]
    replace(SOUND, payload=[]).dumps(),  # type: ignore[arg-type]
    replace(SOUND, deadline=float("inf")).dumps(),
    replace(SOUND, deadline=1e300).dumps(),
    replace(SOUND, size=float("nan")).dumps(),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("priority", wire.PRIORITIES)
def test_the_loop_answers_what_comes_after_it(priority):
    with served(stub=Stub):
        queue.client().rpush(wire.queue_key(priority), *NO_ASKS)
        assert queue.ask("stub", {"n": 1}, deadline=time.time() + 20, priority=priority)["echo"] == {"n": 1}


@pytest.mark.parametrize("raw", [b"\xed\xa0\x80", replace(SOUND, id="\ud800").dumps()])
def test_what_is_no_text_harms_nobody_taken_with_it(raw):
    deadline = time.time() + 20
    with served(stub=Stub):
        busy = queue.begin("stub", {"sleep_ms": 500, "at": deadline}, deadline=deadline)
        queue.client().rpush(wire.queue_key("IMPORTANT"), raw)
        mate = queue.begin("stub", {"n": 1}, deadline=deadline)
        assert queue.wait(mate, deadline)["echo"] == {"n": 1}
        assert queue.wait(busy, deadline)["echo"]["sleep_ms"] == 500


@pytest.mark.parametrize(
    "raw", ["no JSON", "7", "[" * 100_000, json.dumps({"answer": 7}), json.dumps({"answer": "words"})]
)
def test_a_reply_that_is_none_ends_the_ask(raw):
    with scripted([raw]), pytest.raises(queue.Rejected) as caught:
        queue.ask("stub", {}, deadline=time.time() + 20)
    assert caught.value.reason == "failed"
