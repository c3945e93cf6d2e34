"""The web server's connections: what a stream of hours needs beyond what uvicorn gives a short request.

`--http synth.net.connections:Protocol`. The scope of a request then holds the connection itself as
`synth.connection`, so that a stream can be cut, and is told at once when the server stops.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

SCOPE = "synth.connection"
# A client that vanished without a word is found out by unanswered data, or where nothing is sent by probes.
UNACKNOWLEDGED_MS = 20_000
PROBES = (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
# What the kernel keeps for a client that does not read; more only delays that it is noticed.
SEND_BUFFER_BYTES = 262_144


class Protocol(HttpToolsProtocol):
    """One connection. `on_shutdown` is called when the server begins to stop."""

    on_shutdown: Callable[[], None] | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if (found := transport.get_extra_info("socket")) is not None and found.family != socket.AF_UNIX:
            _watch(found)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        scope: Any = self.scope
        scope[SCOPE] = self

    def shutdown(self) -> None:
        super().shutdown()
        if self.on_shutdown is not None:
            self.on_shutdown()

    @property
    def is_full(self) -> bool:
        """Whether the next write has to wait for the client."""
        return self.flow.write_paused

    def abort(self) -> None:
        """Reset the connection, whatever still waits to be sent."""
        if (found := self.transport.get_extra_info("socket")) is not None:
            # Else the kernel would go on offering what it holds to a client that does not read.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        is_old = cycle.scope["http_version"] == "1.0"
        super()._start_asgi_task(cycle, partial(_until_close, app, cycle) if is_old else app)


def _watch(connection: Any) -> None:
    """Have the kernel find out about clients that are gone; what it cannot do is left out."""
    options = [("SO_KEEPALIVE", 1), *PROBES, ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MS)]
    for name, value in options:
        level = socket.SOL_SOCKET if name.startswith("SO_") else socket.IPPROTO_TCP
        try:
            connection.setsockopt(level, getattr(socket, name), value)
        except (AttributeError, OSError):
            continue
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)


async def _until_close(app: Any, cycle: RequestResponseCycle, scope: Any, receive: Any, send: Any) -> None:
    """HTTP/1.0 knows no chunks: a body without a length ends with the connection."""
    is_sized = True

    async def plain(message: Any) -> None:
        nonlocal is_sized
        if message["type"] == "http.response.start":
            is_sized = any(name.lower() == b"content-length" for name, _ in message.get("headers", []))
            if not is_sized:
                cycle.chunked_encoding = False
        elif not is_sized:
            cycle.expected_content_length = len(message.get("body", b""))
        await send(message)

    await app(scope, receive, plain)
