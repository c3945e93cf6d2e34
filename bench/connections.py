"""What coming back to the database costs: with kept connections, and with a new one each time.

`python -m bench.connections`. First the save of a judgment run after a wait (the ask gave its connection
back), then one GET by an API key through the whole process tree, one after the other.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench import stores
from bench.idle import READY_S, free_port, is_ready
from bench.timing import Line, measure, table

N = 300
KEPT = (8, 0)
OURS = ("DATABASE_URL", "REDIS_URL", "SYNTH_EMBEDDED", "SECRET_KEY", "FIELD_KEY", "GIFT_CODE_KEY")


def saves() -> list[Line]:
    """A run saved by a thread that left the database before; on an open connection for comparison."""
    from django.db import connection
    from django.utils.timezone import now

    from judgments.questions import Question
    from judgments.services import runs
    from synth.net import database

    question = Question("q", "noul", "Is there a boat?")

    def save(_: Any) -> None:
        draft = runs.Draft("bench.boat", [question], {"text": "A boat and a garden. " * 40}, "on", now())
        draft.answers = {"q": {"type": "noul", "noul": 0.9}}
        assert runs.save(draft)

    measure("", save, range(50))
    lines = [measure("save, connection never left", save, range(N))]
    for limit in KEPT:
        connection.settings_dict["KEPT_CONNECTIONS"] = limit
        line = Line(f"leave, wait, save; {limit} kept")
        for _ in range(N):
            database.leave()
            line.ms += measure("", save, [0]).ms
        lines.append(line)
    return lines


@contextmanager
def tree(home: str, limit: int) -> Iterator[tuple[int, str]]:
    """Port and a key of a stack that keeps `limit` connections."""
    port, began = free_port(), time.monotonic()
    mine = {"SYNTH_HOME": home, "PORT": str(port), "DB_KEPT_CONNECTIONS": str(limit), "RATE_PER_KEY": "0"}
    env = {name: value for name, value in os.environ.items() if name not in OURS} | mine
    stack = subprocess.Popen([sys.executable, "manage.py", "up"], env=env, stdout=subprocess.DEVNULL)
    try:
        while not is_ready(port):
            if stack.poll() is not None or time.monotonic() - began > READY_S:
                raise SystemExit("the stack did not become ready")
            time.sleep(0.1)
        command = [sys.executable, "manage.py", "create_api_key", "kit", "--role", "trainer"]
        made = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        yield port, made.stdout.split()[-1]
    finally:
        stack.send_signal(signal.SIGINT)
        stack.wait(60)


def requests() -> list[Line]:
    """One GET of the list of agents after another, on one connection to the web process."""
    home, lines = tempfile.mkdtemp(prefix="synth-bench-web-"), []
    try:
        for limit in KEPT:
            with tree(home, limit) as (port, key):
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

                def get(_: Any, client: Any = client, key: str = key) -> None:
                    client.request("GET", "/api/agents/", headers={"Authorization": f"Bearer {key}"})
                    answer = client.getresponse()
                    answer.read()
                    assert answer.status == 200, answer.status

                measure("", get, range(50))
                lines.append(measure(f"GET /api/agents/; {limit} kept", get, range(N)))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return lines


def main() -> None:
    """Both tables; ratios to the first line of each."""
    web = requests()  # before this process names stores of its own in its environment
    print(table(web, web[0]), flush=True)
    stores.begin()
    saved = saves()
    print(table(saved, saved[0]))


if __name__ == "__main__":
    main()
