"""What serving costs around a model that costs nothing: our whole path against `sparrow-decider serve`.

`python -m bench.served`. Ours is the web server, the key, the queue, a worker process and the saved run;
theirs is its own server with its model replaced by one that says 0.5. Both get the same requests from the
same eight clients, one connection each.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import borrowed, stores
from bench.idle import free_port
from bench.timing import Line, table

ROOT = Path(__file__).resolve().parents[1]
N_CLIENTS, N_EACH = 8, 150
SPARROW = "sparrow-decider==0.2.0"
STUB = """
import sys, sparrow_decider.cli as cli
class Stub:
    name = "stub"
    @staticmethod
    def load(model): return Stub()
    def ask(self, state, questions): return {key: {"type": "noul", "noul": 0.5} for key in questions}
cli.Decider = Stub
cli.main(["serve", "--port", sys.argv[1]])
"""
BODY = {
    "model": "jev-latest",
    "state": "The user wrote about the parcel that has not come yet, and asks what to do. " * 6,
    "questions": {"q": {"type": "noul", "instructions": "Is the user waiting for something?"}},
}


@contextmanager
def running(*commands: Sequence[str]) -> Iterator[None]:
    """These processes inside the block."""
    found = [subprocess.Popen(command, cwd=ROOT, env=os.environ) for command in commands]
    try:
        yield
    finally:
        for process in found:
            process.terminate()
        for process in found:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(port: int, seconds: float = 60) -> None:
    """Until the port takes connections. TimeoutError."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=1).connect()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"nobody listens on {port}")


def crowd(what: str, port: int, key: str = "", n_each: int = N_EACH) -> Line:
    """Eight clients that ask one after the other; RuntimeError for any answer but 200."""
    line = Line(what)
    wrong: list[int] = []
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}

    def client(k: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for n in range(n_each):
            raw = json.dumps({**BODY, "state": f"{k} {n} {BODY['state']}"})
            start = time.perf_counter()
            connection.request("POST", "/v1/systemone", raw, headers)
            answer = connection.getresponse()
            answer.read()
            line.ms.append((time.perf_counter() - start) * 1000)
            if answer.status != 200:
                wrong.append(answer.status)

    threads = [threading.Thread(target=client, args=(k,)) for k in range(N_CLIENTS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong or not line.ms:
        raise RuntimeError(f"{what}: answers with {sorted(set(wrong))}")
    line.note = f"{len(line.ms) / (time.perf_counter() - start):.0f} requests/s"
    return line


@contextmanager
def ours(worker: Sequence[str] = (sys.executable, "-m", "bench.flat_worker")) -> Iterator[tuple[int, str]]:
    """Port and key of our server with this worker behind it."""
    from synth.inference import queue
    from synth.models import Door
    from synth.services import keys, people
    from synth.stack.roles import ROLES

    port = free_port()
    key = keys.issue(people.ensure("bench"), role="app", name="", by=None, door=Door.COMMAND).plain
    command = ROLES["web"].filled(bind="127.0.0.1", port=port)
    web = [sys.executable if part == "python" else part for part in command]
    with running(web, worker):
        wait_for(port)
        while not queue.is_served():
            time.sleep(0.05)
        yield port, key


def main() -> None:
    """Both, in turn, twice; the second round is printed."""
    os.environ |= {"SYSTEM_ONE_RATE_PER_KEY": "1000000", "OMP_NUM_THREADS": "1"}
    stores.begin()
    with borrowed.environment("sparrow", SPARROW) as python, ours() as (our_port, key):
        port = free_port()
        with running([str(python), "-c", STUB, str(port)]):
            wait_for(port)
            for n_each in (20, N_EACH):
                theirs = crowd("sparrow-decider serve, its model replaced", port, n_each=n_each)
                own = crowd("ours: key, queue, worker, saved run", our_port, key, n_each=n_each)
    print(table([theirs, own], theirs))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
