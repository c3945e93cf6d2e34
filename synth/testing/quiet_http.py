"""The server under the scripted hosts of tests: a thread a request, no words about clients that go away."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """Serves on a port of loopback (0: a free one) until it is shut down; `owner` is for its handlers."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler], owner: Any, port: int = 0) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", port), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is the test's business."""


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open between requests."""

    server: QuietServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Quiet."""
