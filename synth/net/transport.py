"""An HTTP transport that connects only to given addresses and ends when its deadline does.

A name is resolved before and not again, so what was checked is what is connected to. Every socket operation
gets the time that is left, so a host that drips bytes cannot outlive the deadline. Proxies of the
environment are not used. Answers are asked for unpacked.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore
import httpx
from httpcore._backends.sync import SyncStream

MAX_BODY_BYTES = 16 * 1024 * 1024


class HangUp:
    """Ends one client's connection from another thread: at once, for good, also while it is being made."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self.is_done = False

    def __call__(self) -> None:
        """Hang up. Safe to repeat, and before there is a connection."""
        with self._lock:
            self.is_done = True
            self._shut()

    def watch(self, line: socket.socket) -> None:
        """Hold on to a connection by a handle of its own, which TLS does not take away."""
        with self._lock:
            self._let_go()
            self._line = line.dup()

    def check(self) -> None:
        """ConnectionAbortedError once it was hung up."""
        if self.is_done:
            raise ConnectionAbortedError("hung up")

    def let_go(self) -> None:
        """The connection is over."""
        with self._lock:
            self._let_go()

    def _shut(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):  # not connected yet, or not any more
                self._line.shutdown(socket.SHUT_RDWR)

    def _let_go(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


class _Stream(httpcore.NetworkStream):
    """A network stream that counts bytes and knows when it must end."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: float) -> None:
        self._inner = inner
        self._deadline = deadline
        self._n_read = 0

    def _left(self, timeout: float | None) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the deadline passed")
        return left if timeout is None else min(left, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._left(timeout))
        self._n_read += len(data)
        if self._n_read > MAX_BODY_BYTES:
            raise httpcore.ReadError("the answer is too large")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._left(timeout))
        return _Stream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Connects to the pinned addresses whatever name it is given."""

    def __init__(self, addresses: Sequence[str], deadline: float, hang_up: HangUp | None) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._hang_up = hang_up

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        trouble: Exception = httpcore.ConnectError("no address")
        for n_left, address in zip(range(len(self._addresses), 0, -1), self._addresses, strict=True):
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise httpcore.ConnectTimeout("the deadline passed")
            try:
                # An address that swallows packets must leave time for the next one.
                return _Stream(SyncStream(self._connect(address, port, left / n_left)), self._deadline)
            except TimeoutError as error:
                trouble = httpcore.ConnectTimeout(str(error))
            except OSError as error:
                trouble = httpcore.ConnectError(str(error))
        raise trouble

    def _connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )[0]
        line = socket.socket(family, kind, protocol)
        try:
            line.settimeout(timeout_s)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._hang_up is not None:
                self._hang_up.watch(line)
                self._hang_up.check()
            line.connect(where)
            if self._hang_up is not None:
                self._hang_up.check()
        except BaseException:
            line.close()
            raise
        return line


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Reading the certificate store takes 20 ms, so it is read once."""
    return httpx.create_ssl_context()


def pinned_client(
    addresses: Sequence[str], deadline: float, *, hang_up: HangUp | None = None, idle_s: float | None = None
) -> httpx.Client:
    """A client for one call. `deadline` is a `time.monotonic()` value in seconds.

    `hang_up` can end it from another thread; the caller lets go of it after the call. `idle_s` is the longest
    silence while something is read.
    """
    transport = httpx.HTTPTransport(verify=_ssl_context(), trust_env=False)
    transport._pool = httpcore.ConnectionPool(
        ssl_context=_ssl_context(),
        network_backend=_Backend(addresses, deadline, hang_up),
    )
    return httpx.Client(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=httpx.Timeout(None, read=idle_s),  # the transport keeps the deadline
        headers={"Accept-Encoding": "identity"},
    )


def refuse_packed(response: httpx.Response) -> None:
    """An event hook for clients that read bodies: a few packed bytes may stand for a gigabyte."""
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise httpx.DecodingError("a packed answer was not asked for", request=response.request)
