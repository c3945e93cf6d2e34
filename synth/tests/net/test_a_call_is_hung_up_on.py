"""Another thread ends a call at once, whatever it waits for: the connection, TLS, the answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from synth.net.transport import HangUp, pinned_client


@contextlib.contextmanager
def silent(*, is_full: bool = False) -> Iterator[int]:
    """A port where nobody says anything; `is_full`: where not even a connection comes about."""
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind(("127.0.0.1", 0))
        server.listen(0 if is_full else 8)
        for _ in range(3 if is_full else 0):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.mark.parametrize(("scheme", "is_full"), [("http", True), ("https", False), ("http", False)])
def test_it_ends_at_once(scheme, is_full):
    hang_up = HangUp()
    began = time.monotonic()
    with silent(is_full=is_full) as port:
        threading.Timer(0.5, hang_up).start()
        with pinned_client(["127.0.0.1"], began + 60, hang_up=hang_up) as client:
            with pytest.raises(httpx.HTTPError):
                client.get(f"{scheme}://host.test:{port}/")
    hang_up.let_go()
    assert 0.4 < time.monotonic() - began < 20


def test_before_there_is_a_connection_none_is_made():
    hang_up = HangUp()
    hang_up()
    with silent() as port, pinned_client(["127.0.0.1"], time.monotonic() + 60, hang_up=hang_up) as client:
        with pytest.raises(httpx.ConnectError):
            client.get(f"http://host.test:{port}/")


def test_silence_while_reading_has_a_limit_of_its_own():
    with silent() as port, pinned_client(["127.0.0.1"], time.monotonic() + 60, idle_s=0.3) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.get(f"http://host.test:{port}/")
