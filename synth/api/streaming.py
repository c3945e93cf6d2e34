"""One open event stream: its headers, one event a write, a comment while nothing happens, its end.

A client that goes away, or does not take what it is sent, is noticed and nothing of it is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import Gauge

from synth.api import credentials
from synth.api.handoff import Handed
from synth.net import connections

HEARTBEAT_S = 10.0
# A client that takes nothing for so long is cut; it comes back with the last id it has.
STUCK_S = 20.0
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
n_open = Gauge("synth_streams_open", "Event streams open in this process.", ["kind"])


class Gone(Exception):
    """The client is no longer there."""


class Stream:
    """`wake` is set when something may have happened: news, the client's end, ours. `is_gone`: the client
    went. `is_over`: this server ends the stream, for example because it stops.
    """

    def __init__(self, handed: Handed) -> None:
        self._send = handed.send
        self._receive = handed.receive
        self._connection: Any = handed.scope.get(connections.SCOPE)
        self.wake = asyncio.Event()
        self.is_gone = False
        self.is_over = False
        self._went = asyncio.Event()
        self._wrote_at = time.monotonic()

    def end(self) -> None:
        """Have the stream end soon, from this side."""
        self.is_over = True
        self.wake.set()

    async def put(self, frame: bytes) -> None:
        """One event, or a comment, in one write. Gone when nobody takes it."""
        if self.is_gone:
            raise Gone
        self._wrote_at = time.monotonic()
        message = {"type": "http.response.body", "body": frame, "more_body": True}
        try:
            if self._connection is not None and not self._connection.is_full:
                await self._send(message)
                return
            async with asyncio.timeout(STUCK_S):
                await self._send(message)
        except (TimeoutError, OSError):
            await self._cut()
            raise Gone from None

    async def rest(self, heartbeat: bytes = b"") -> None:
        """Wait until something may have happened, with a comment (if any) whenever nothing was written for
        10 s; not everything that happens is told to every client.
        """
        while True:
            if heartbeat and self._wrote_at + HEARTBEAT_S <= time.monotonic():
                await self.put(heartbeat)
            if self.wake.is_set():
                break
            left_s = self._wrote_at + HEARTBEAT_S - time.monotonic() if heartbeat else HEARTBEAT_S
            try:
                async with asyncio.timeout(max(0.01, left_s)):
                    await self.wake.wait()
            except TimeoutError:
                continue
        self.wake.clear()
        if self.is_gone:
            raise Gone

    async def begin(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Status and headers."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*headers, *HEADERS]})

    async def finish(self) -> None:
        """The regular end of the body."""
        try:
            async with asyncio.timeout(STUCK_S):
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, OSError):
            await self._cut()

    async def watch(self) -> None:
        """Notice the client's end; a task of its own."""
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self.is_gone = True
        self._went.set()
        self.wake.set()

    async def _cut(self) -> None:
        """Drop the connection, so that nothing waits in it for a client that does not read."""
        if self._connection is not None:
            self._connection.abort()
            try:
                async with asyncio.timeout(1):
                    await self._went.wait()
            except TimeoutError:
                pass
        self.is_gone = True


@asynccontextmanager
async def waiting(handed: Handed) -> AsyncIterator[Stream]:
    """The client's side of an answer that is not begun yet; the block ends quietly when the client goes."""
    stream = Stream(handed)
    number = credentials.watch(handed.data["who"], stream.end)
    watcher = asyncio.create_task(stream.watch(), name="client")
    connection = handed.scope.get(connections.SCOPE)
    if connection is not None:
        connection.on_shutdown = stream.end
    n_open.labels(handed.kind).inc()
    try:
        yield stream
    except Gone:
        pass
    finally:
        n_open.labels(handed.kind).dec()
        watcher.cancel()
        credentials.forget(number)
        if connection is not None:
            connection.on_shutdown = None


@asynccontextmanager
async def opened(handed: Handed) -> AsyncIterator[Stream]:
    """A begun event stream; it ends with the block, and is closed whatever happens.

    A HEAD request gets the headers alone: its stream `is_over` from the start.
    """
    async with waiting(handed) as stream:
        await stream.begin(handed.headers)
        if handed.scope["method"] == "HEAD":
            stream.end()
        yield stream
        if not stream.is_gone:
            await stream.finish()
