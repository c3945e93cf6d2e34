"""Open event streams on one web process: memory, threads, connections, and how soon an event arrives.

`python -m bench.streams [N]` (1,000). A real uvicorn process on private stores; the clients and the publisher
share the machine with it. Linux only.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.stores import begin
from bench.timing import Line, table

N_EVENTS = 20
PAUSE_S = 0.5


def free_port() -> int:
    """A port nobody listens on now."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Web:
    """One web process as the supervisor starts it."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def rss_kib(self) -> int:
        """Memory of its own."""
        rows = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(row.split()[1]) for row in rows if row.startswith(("Private_Clean", "Private_Dirty")))

    @property
    def n_threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    @property
    def n_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


def start() -> Web:
    """Start it and wait until it listens."""
    import socket

    from synth.stack.roles import COMMON_ENV, ROLES

    port, role = free_port(), ROLES["web"]
    env = os.environ | COMMON_ENV | dict(role.env) | {"RATE_PER_KEY": "0", "RATE_PER_ADDRESS": "0"}
    command = [sys.executable, *role.filled(bind="127.0.0.1", port=port)[1:]]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return Web(port, process)
        time.sleep(0.1)
    raise SystemExit("the web process does not listen")


@dataclass
class Clients:
    """Open streams; each notes how old an event is when it arrives. The text of an event is its birth."""

    port: int
    ages_ms: list[float] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    n_ready: int = 0

    async def open(self, path: str, key: str) -> None:
        """Open one more stream."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        ask = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n"
        writer.write(ask.encode())
        self.writers.append(writer)
        self.tasks.append(asyncio.create_task(self._read(reader)))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                if line.startswith(b"retry:"):
                    self.n_ready += 1
                elif b"born " in line:
                    born = float(line.partition(b"born ")[2].split(b'"')[0])
                    self.ages_ms.append((time.time() - born) * 1000)
        except (ConnectionError, asyncio.CancelledError):
            return

    async def ready(self, n: int) -> None:
        """Wait until `n` streams have begun."""
        end = time.monotonic() + 120
        while self.n_ready < n:
            if time.monotonic() > end:
                raise SystemExit(f"only {self.n_ready} of {n} streams began")
            await asyncio.sleep(0.05)

    def drop(self) -> None:
        """Reset all of them at once."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


def people_and_answers(n: int) -> tuple[str, list[Any]]:
    """A key, and `n` answers being written, each in its own dialogue."""
    from datetime import timedelta

    from django.utils.timezone import now

    from synth.models import Dialogue, Message, TurnState
    from synth.services import agents, keys, people

    person = people.ensure("pia")
    agent = agents.create(slug="wren", name="Wren")
    lease = now() + timedelta(hours=2)
    made = Dialogue.objects.bulk_create([Dialogue(agent=agent, person=person) for _ in range(n)])
    rows = Message.objects.bulk_create(
        [
            Message(dialogue=d, role="assistant", status="streaming", lease_until=lease, attempt=1)
            for d in made
        ]
    )
    TurnState.objects.bulk_create([TurnState(answer=row, person=person) for row in rows])
    return keys.issue(person, role="person").plain, rows


async def told(what: str, clients: Clients, n: int, tell: Callable[[], None]) -> Line:
    """Tell events, each to `n` clients, and give how old they were on arrival."""
    clients.ages_ms.clear()
    for at in range(N_EVENTS):
        await asyncio.to_thread(tell)
        end = time.monotonic() + 10
        while len(clients.ages_ms) < n * (at + 1) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await asyncio.sleep(PAUSE_S)
    n_lost = n * N_EVENTS - len(clients.ages_ms)
    return Line(what, list(clients.ages_ms), f"{n_lost} lost")


async def measure(n: int, key: str, rows: list[Any]) -> list[Line]:
    """Everything about `n` streams, on a web process of their own."""
    from synth.chat.publishing import Publisher

    web = start()
    try:
        clients = Clients(web.port)
        for _ in range(16):
            await clients.open("/api/me/", key)
        await asyncio.sleep(2)
        clients.drop()
        await asyncio.sleep(1)
        base = (web.rss_kib, web.n_threads, web.n_files)
        began = time.monotonic()
        for row in rows[: n // 2]:
            await clients.open(f"/api/chat/stream?message={row.pk}", key)
        for _ in range(n - n // 2):
            await clients.open(f"/api/chat/stream?message={rows[0].pk}", key)
        await clients.ready(n)
        opened_s = time.monotonic() - began
        await asyncio.sleep(6)
        idle = (web.rss_kib, web.n_threads, web.n_files)
        print(
            f"{n} streams: opened in {opened_s:.1f} s, {(idle[0] - base[0]) / 1024:.1f} MiB above idle "
            f"({(idle[0] - base[0]) / n:.1f} KiB each), threads {base[1]} -> {idle[1]}, "
            f"files {base[2]} -> {idle[2]}, database connections {n_connections()}",
            flush=True,
        )
        voices = [Publisher(row.pk, n=None) for row in rows[: n // 2]]

        def one() -> None:
            voices[0].tell("delta", text=f"born {time.time()}")

        def each() -> None:
            for voice in voices:
                voice.tell("delta", text=f"born {time.time()}")

        lines = [
            await told(f"{n} streams: one answer, {n - n // 2 + 1} viewers", clients, n - n // 2 + 1, one),
            await told(f"{n} streams: every answer says a word", clients, n, each),
        ]
        began = time.monotonic()
        clients.drop()
        while (web.n_files > base[2] + 6 or n_streams(web, key)) and time.monotonic() - began < 60:
            await asyncio.sleep(0.1)
        print(
            f"{n} dropped at once: back to {web.n_files} files in {time.monotonic() - began:.1f} s",
            flush=True,
        )
        return lines
    finally:
        web.process.send_signal(signal.SIGKILL)
        web.process.wait()


async def measure_inbox(n: int, key: str) -> list[Line]:
    """Deliveries to `n` open streams of one person, from `send` through the worker's part to each client."""
    from django.db import transaction

    from reminders.services import carrying, dispatch
    from synth.selectors import person_by_username

    web = start()
    try:
        clients = Clients(web.port)
        for _ in range(n):
            await clients.open("/api/reminders/stream", key)
        await clients.ready(n)
        await asyncio.sleep(6)

        def deliver() -> None:
            person = person_by_username("pia")
            with transaction.atomic():
                dispatch.send(
                    kind="system", title="Hello", body=f"born {time.time()}", person=person, dedupe_key=""
                )
            carrying.drain_all()

        return [await told(f"{n} inbox streams: a delivery, carried and told", clients, n, deliver)]
    finally:
        web.process.send_signal(signal.SIGKILL)
        web.process.wait()


def n_streams(web: Web, key: str) -> int:
    """Streams the process counts itself."""
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{web.port}/metrics", timeout=10) as answer:
        lines = [
            line for line in answer.read().decode().splitlines() if line.startswith("synth_streams_open{")
        ]
    return round(sum(float(line.split()[-1]) for line in lines))


def n_connections() -> int:
    """Connections to the database beside the one that asks."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        (found,) = cursor.fetchone()
    connection.close()
    return int(found)


def main() -> None:
    """At a hundred streams, then at N."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    begin()
    key, rows = people_and_answers(n)
    lines: list[Line] = []
    for size in sorted({100, n}):
        lines += asyncio.run(_outside(size, key, rows))
    print(table(lines))


async def _outside(size: int, key: str, rows: list[Any]) -> list[Line]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # the benchmark's own look at the database
    return [*await measure(size, key, rows), *await measure_inbox(size, key)]


if __name__ == "__main__":
    main()
