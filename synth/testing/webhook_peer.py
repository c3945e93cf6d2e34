"""A webhook's receiver for tests: a real HTTP server on loopback that answers by a script.

Answers: a status, or a dict with any of `status`, `headers`, `body`, `delay_s` (before the answer), `hang`
(never answers), `reset` (ends the connection without one), `drip_s` (headers at once, the body byte by byte).
The last answer repeats. Every request is recorded with its headers and raw body.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from dataclasses import dataclass
from typing import Any

from synth.testing.quiet_http import QuietHandler, QuietServer

Answer = int | dict[str, Any]


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.raw)


class WebhookPeer:
    """The server; a context manager. `url` is its address, `path` the interface path that leads to it."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers) or [204]
        self._lock = threading.Lock()
        self.requests: list[Received] = []
        self.closing = threading.Event()
        self._server = QuietServer(_Handler, self)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/hook"
        self.path = f"webhook/{self.url}"

    def __enter__(self) -> WebhookPeer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer_to(self, request: Received) -> dict[str, Any]:
        """Record a request and give the next answer."""
        with self._lock:
            self.requests.append(request)
            answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
        return answer if isinstance(answer, dict) else {"status": answer}


class _Handler(QuietHandler):
    def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
        """The next answer of the script."""
        peer = self.server.owner
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = peer.answer_to(Received(self.path, dict(self.headers.items()), raw))
        if answer.get("hang"):
            peer.closing.wait(60)
        peer.closing.wait(answer.get("delay_s", 0))
        if answer.get("hang") or answer.get("reset"):
            self._reset()
            return
        data = str(answer.get("body", "")).encode()
        self.send_response(answer.get("status", 204))
        for name, value in {"Content-Length": str(len(data)), **answer.get("headers", {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if pause_s := answer.get("drip_s"):
            for n in range(len(data)):
                peer.closing.wait(pause_s)
                self.wfile.write(data[n : n + 1])
        else:
            self.wfile.write(data)

    def _reset(self) -> None:
        """End the connection with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
