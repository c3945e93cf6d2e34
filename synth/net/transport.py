"""An HTTP transport that connects only to given addresses and ends when its deadline does.

A name is resolved before and not again, so what was checked is what is connected to. Every socket operation
gets the time that is left, so a host that drips bytes cannot outlive the deadline. Proxies of the
environment are not used. Answers are asked for unpacked.
"""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore
import httpx

MAX_BODY_BYTES = 16 * 1024 * 1024


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

    def __init__(self, addresses: Sequence[str], deadline: float) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._inner = httpcore.SyncBackend()

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
                stream = self._inner.connect_tcp(address, port, left / n_left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                trouble = error
            else:
                return _Stream(stream, self._deadline)
        raise trouble


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Reading the certificate store takes 20 ms, so it is read once."""
    return httpx.create_ssl_context()


def pinned_client(addresses: Sequence[str], deadline: float) -> httpx.Client:
    """A client for one call. `deadline` is a `time.monotonic()` value in seconds."""
    transport = httpx.HTTPTransport(verify=_ssl_context(), trust_env=False)
    transport._pool = httpcore.ConnectionPool(
        ssl_context=_ssl_context(),
        network_backend=_Backend(addresses, deadline),
    )
    return httpx.Client(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=None,  # noqa: S113 - the transport keeps the deadline
        headers={"Accept-Encoding": "identity"},
    )


def refuse_packed(response: httpx.Response) -> None:
    """An event hook for clients that read bodies: a few packed bytes may stand for a gigabyte."""
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise httpx.DecodingError("a packed answer was not asked for", request=response.request)
