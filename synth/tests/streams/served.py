"""A real web process on the test's database, and a client that reads event streams byte by byte."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from synth.stack.roles import ROLES
from synth.tests.outbox.helpers import ROOT, child_env
from synth.tests.stack.tree import free_port, wait

READ_S = 20.0


class Web:
    """The web role as the supervisor starts it; a context manager. Restarts keep the port."""

    def __init__(self, log: Path, **env: str) -> None:
        self.port = free_port()
        self.log = log
        self.env = env
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Web:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> Web:
        """Start, and wait until it listens."""
        _, *command = ROLES["web"].filled(bind="127.0.0.1", port=self.port)
        env = child_env(RATE_PER_KEY="0", RATE_PER_ADDRESS="0", **self.env)
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, *command], env=env, cwd=ROOT, stdout=out, stderr=out
            )
        assert wait(self._listens, 60), self.log.read_text()
        return self

    def _listens(self) -> bool:
        assert self.process is not None and self.process.poll() is None, self.log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self, sig: int = signal.SIGKILL) -> None:
        """End the process and wait."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sig)
            self.process.wait(30)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def n_open(self) -> int:
        """Event streams and waits the process itself counts."""
        status, _, body = self.get("/metrics")
        assert status == 200
        lines = [line for line in body.decode().splitlines() if line.startswith("synth_streams_open{")]
        return round(sum(float(line.split()[-1]) for line in lines))

    def n_sockets(self) -> int:
        """Sockets the process holds."""
        found = 0
        for entry in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                found += os.readlink(entry).startswith("socket:")
            except OSError:
                continue
        return found

    def n_threads(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    def rss_kib(self) -> int:
        """Memory of its own: neither shared with others nor swapped out."""
        rows = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(row.split()[1]) for row in rows if row.startswith(("Private_Clean", "Private_Dirty")))

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """A whole answer."""
        return self.ask("GET", path, None, **headers)

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        with self.open(method, path, body, Connection="close", **headers) as client:
            return client.status, client.headers, client.rest()

    def open(
        self, method: str, path: str, body: Any = None, *, version: str = "1.1", **headers: str
    ) -> Client:
        """Send a request; `Client` reads the answer. Header names are written with `_` for `-`."""
        client = Client(socket.create_connection(("127.0.0.1", self.port), timeout=READ_S))
        client.ask(method, path, body, version=version, **headers)
        return client


@dataclass
class Sse:
    """One block of a stream: an event, or a comment."""

    event: str = ""
    data: str = ""
    id: str = ""
    comment: str = ""
    retry: str = ""
    raw: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Client:
    """One connection. `step` is how many bytes are read at a time; every read is kept as it came."""

    connection: socket.socket
    step: int = 65536
    buffer: bytes = b""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    is_head: bool = False
    writes: list[bytes] = field(default_factory=list)
    ended: bool = False

    def __enter__(self) -> Client:
        if not self.status:
            self.head()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def ask(self, method: str, path: str, body: Any, *, version: str, **headers: str) -> None:
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/{version}", "Host: localhost"]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(raw)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.is_head = method == "HEAD"
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode() + raw)

    def head(self) -> None:
        """Status line and headers."""
        raw = self._until(b"\r\n\r\n")
        first, *rest = raw.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        pairs = (line.partition(":") for line in rest if line)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    def rest(self) -> bytes:
        """Everything up to the end of the body."""
        if self.is_head or self.status in (204, 304):
            return b""
        if "content-length" in self.headers:
            return self._exactly(int(self.headers["content-length"]))
        return b"".join(self.body())

    def body(self) -> Iterator[bytes]:
        """The writes of the server: the chunks as they were sent; without chunks, what a read brings."""
        if self.headers.get("transfer-encoding") != "chunked":
            while self.buffer or self._more():
                piece, self.buffer = self.buffer, b""
                yield piece
            self.ended = True
            return
        while True:
            size = int(self._until(b"\r\n"), 16)
            chunk = self._exactly(size)
            assert self._exactly(2) == b"\r\n"
            if not size:
                self.ended = True
                return
            self.writes.append(chunk)
            yield chunk

    def blocks(self) -> Iterator[Sse]:
        """The blocks of the stream; AssertionError where its form is broken."""
        pending = b""
        for piece in self.body():
            pending += piece
            while b"\n\n" in pending:
                raw, _, pending = pending.partition(b"\n\n")
                yield parse(raw + b"\n\n")
        assert not pending, pending

    def events(self) -> Iterator[Sse]:
        """Only the events."""
        return (block for block in self.blocks() if block.event)

    def until(self, name: str) -> list[Sse]:
        """The events up to the first of that name."""
        found: list[Sse] = []
        for event in self.events():
            found.append(event)
            if event.event == name:
                return found
        raise AssertionError(f"no {name}: {[e.event for e in found]}")

    def reset(self) -> None:
        """End the connection with RST."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _more(self) -> bool:
        piece = self.connection.recv(self.step)
        self.buffer += piece
        return bool(piece)

    def _until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            if not self._more():
                raise ConnectionError(f"the server closed: {self.buffer[:200]!r}")
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            if not self._more():
                raise ConnectionError("the server closed in the middle")
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found


def parse(raw: bytes) -> Sse:
    """One block: lines end in LF alone, it is valid UTF-8, and ends in one blank line."""
    assert b"\r" not in raw and raw.endswith(b"\n\n") and not raw.endswith(b"\n\n\n")
    found = Sse(raw=raw)
    for line in raw.decode("utf-8")[:-2].split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name:
            found.comment = value or " "
        else:
            assert name in ("event", "data", "id", "retry") and not getattr(found, name), line
            setattr(found, name, value)
    return found


def eventually(condition: Callable[[], object], seconds: float = 30) -> bool:
    """Whether it came to hold in time."""
    return wait(condition, seconds)


def pause(seconds: float) -> None:
    """Let that much time pass: the thing under test is a wait itself."""
    time.sleep(seconds)
