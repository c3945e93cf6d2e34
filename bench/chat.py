"""How long the first word of an answer takes beyond its host, and how evenly 50 answers at once are told.

Host, worker and viewer are processes of their own. `chat.parallel` says how many answers (default 50, each at
50 words a second). A gap is the time between two events of one answer as its viewer hears them.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import stores
from bench.timing import Line, table

N_FIRST, N_WORDS, RATE = 40, 200, 50
WORKER = """
import django
django.setup()
import time
from synth.chat import listener
listener.start()
time.sleep(3600)
"""


def main(parallel: int = 50) -> None:
    """Both tables."""
    stores.begin()
    from django.test import override_settings

    quick = [{"content": "Hello there, how are you?"}]
    steady = [{"content": " ".join(["word"] * N_WORDS), "token_s": 1 / RATE}]
    print("First word, from saying something to hearing it")
    with Host(quick) as host, override_settings(LLM_BASE_URL=host.url), Worker(host):
        print(table(first_words(host)))
    print(f"\n{parallel} answers at once, {RATE} words a second each")
    with Host(steady) as host, override_settings(LLM_BASE_URL=host.url), Worker(host) as worker:
        print(table(gaps(parallel, worker)))


class Process:
    """A subprocess that ends with the block."""

    process: subprocess.Popen[str]

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def cpu_s(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Host(Process):
    """A scripted host that says the last reply again and again."""

    def __init__(self, replies: Sequence[Mapping[str, object]]) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as file:
            file.writelines(json.dumps(reply) + "\n" for reply in replies)
        command = [sys.executable, "-m", "synth.testing.scripted_host", "--replies", file.name]
        self.process = subprocess.Popen([*command, "--repeat-last"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def __enter__(self) -> Host:
        return self

    def first_byte_s(self) -> float:
        """Seconds to the first word of the host itself."""
        address = self.url.removeprefix("http://").partition("/")[0]
        began = time.perf_counter()
        connection = http.client.HTTPConnection(address)
        connection.request("POST", "/v1/chat/completions", json.dumps({"stream": True, "messages": []}))
        answer = connection.getresponse()
        while b'"content": "H' not in answer.readline():
            pass
        took = time.perf_counter() - began
        connection.close()
        return took


class Worker(Process):
    """A process that runs turns."""

    def __init__(self, host: Host) -> None:
        environment = {**os.environ, "LLM_BASE_URL": host.url, "LLM_DAILY_TOKENS": "0"}
        self.process = subprocess.Popen([sys.executable, "-c", WORKER], env=environment, text=True)

    def __enter__(self) -> Worker:
        return self


class Viewer:
    """Hears every answer; `heard` has the second of each event by answer."""

    def __init__(self) -> None:
        from synth import liveness
        from synth.net import clients

        self.heard: dict[int, list[tuple[float, str]]] = defaultdict(list)
        self.news = threading.Condition()
        self.is_over = False
        self._channel = liveness.client().pubsub(ignore_subscribe_messages=True)
        self._channel.psubscribe(clients.channel("chat:bell:*"))
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def _hear(self) -> None:
        while not self.is_over:
            message = self._channel.get_message(timeout=0.5)
            if message is not None:
                at, answer = time.perf_counter(), int(message["channel"].rpartition(":")[2])
                with self.news:
                    self.heard[answer].append((at, message["data"].split(" ", 2)[1]))
                    self.news.notify_all()

    def close(self) -> None:
        """Hear no more."""
        self.is_over = True
        self._thread.join()

    def wait(self, answer: int, name: str) -> float:
        """When the first event of that name was heard."""
        with self.news:
            self.news.wait_for(lambda: any(one == name for _, one in self.heard[answer]), 120)
            return next(at for at, one in self.heard[answer] if one == name)


def first_words(host: Host) -> list[Line]:
    """The bare host, a turn from the call that begins it, and the difference."""
    from synth.services import agents, dialogues, people, turns

    viewer, agent = Viewer(), agents.create(slug="bench", name="Bench", persona="You are brief.")
    dialogue = dialogues.create(agent, people.ensure("bench"))
    bare, begun, whole = Line("the host alone"), Line("begin() returns"), Line("a turn")
    for n in range(N_FIRST + 3):
        bare_s = host.first_byte_s()
        start = time.perf_counter()
        answer = turns.begin(dialogue, dialogue.person, f"Message {n}").answer.pk
        returned = time.perf_counter()
        heard = viewer.wait(answer, "delta")
        viewer.wait(answer, "message.end")
        if n >= 3:
            bare.ms.append(bare_s * 1000)
            begun.ms.append((returned - start) * 1000)
            whole.ms.append((heard - start) * 1000)
    viewer.close()
    more = Line("a turn beyond its host", [w - b for w, b in zip(whole.ms, bare.ms, strict=True)])
    return [bare, begun, whole, more]


def gaps(parallel: int, worker: Worker) -> list[Line]:
    """The first words, and the longest gap of each answer, when all are written at once."""
    from synth.services import agents, dialogues, people, turns

    viewer, agent = Viewer(), agents.create(slug="many", name="Many", persona="You are brief.")
    rows = [dialogues.create(agent, people.ensure(f"many{n}")) for n in range(parallel)]
    viewer.wait(turns.begin(rows[0], rows[0].person, "Warm up.").answer.pk, "message.end")
    viewer.heard.clear()
    began, cpu = time.perf_counter(), worker.cpu_s()
    starts = {turns.begin(row, row.person, "Hello?").answer.pk: time.perf_counter() for row in rows}
    for answer in starts:
        viewer.wait(answer, "message.end")
    took, cpu = time.perf_counter() - began, worker.cpu_s() - cpu
    viewer.close()
    first, longest = Line("first word after begin()"), Line("longest gap of an answer")
    for answer, start in starts.items():
        at = [when for when, name in viewer.heard[answer] if name == "delta"]
        first.ms.append((at[0] - start) * 1000)
        longest.ms.append(max(b - a for a, b in zip(at, at[1:], strict=False)) * 1000)
    note = f"{took:.1f} s for {N_WORDS / RATE:.1f} s of words; the worker used {cpu:.1f} s of processor"
    return [first, longest, Line("all", [took * 1000], note)]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
