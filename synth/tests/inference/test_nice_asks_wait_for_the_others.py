"""NICE asks run only while nothing that matters more waits, and give way between two batches."""

from __future__ import annotations

import json
import threading
import time

import pytest

from synth.inference import queue, wire
from synth.inference.runners import Stub
from synth.inference.worker import Serving
from synth.tests.inference.serving import clear

RAN: list[str] = []


class Noted(Stub):
    """A twin that notes what it ran; in the first NICE batch an IMPORTANT ask arrives."""

    arrives = ""

    def run(self, batch):
        names = [payload["name"] for payload in batch]
        RAN.extend(names)
        if type(self).arrives and names[0].startswith("nice"):
            put("IMPORTANT", type(self).arrives)
            type(self).arrives = ""
        return super().run(batch)


def put(priority: str, name: str, kind: str = "stub", pad: int = 0) -> str:
    payload = {"name": name, "pad": "x" * pad}
    made = wire.envelope(f"id-{name}", kind, payload, time.time() + 60)
    queue.client().rpush(wire.queue_key(priority), made.dumps())
    return made.id


@pytest.fixture
def serving():
    clear()
    RAN.clear()
    Noted.arrives = ""
    yield Serving({"stub": Noted, "other": Noted}, threading.Event())
    clear()


def test_all_urgent_asks_run_before_the_first_nice_one(serving):
    for n in range(3):
        put("NICE", f"nice{n}")
        put("IMPORTANT", f"important{n}")
        put("CHAT", f"chat{n}")
    while serving.turn():
        pass
    assert [name[:4] for name in RAN] == ["chat"] * 3 + ["impo"] * 3 + ["nice"] * 3


def test_nice_asks_that_were_taken_wait_again_when_others_come(serving):
    Noted.arrives = "important"
    for n, kind in enumerate(["stub", "other", "stub"]):
        put("NICE", f"nice{n}", kind)
    serving.turn()
    assert RAN == ["nice0", "nice2"]
    waiting = queue.client().lrange(wire.queue_key("NICE"), 0, -1)
    assert [json.loads(raw)["id"] for raw in waiting] == ["id-nice1"]
    while serving.turn():
        pass
    assert RAN == ["nice0", "nice2", "important", "nice1"]
    assert queue.client().exists(wire.reply_key("id-nice1"))
