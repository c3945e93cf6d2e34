"""A real HTTP server on loopback that speaks `/v1/chat/completions` and says what a test wrote down.

    with ScriptedHost(["hello", {"status": 429, "headers": {"Retry-After": "3"}}]) as host:
        ...  # LLM_BASE_URL = host.base_url
        assert host.requests[0].json["messages"]

A reply is a string (the content), a function of the request's JSON that gives a reply, or a dict with any of
`content`, `tool_calls` (`[{name, arguments}]`), `finish_reason`, `message` (extra fields), `usage`, `model`,
`status`, `headers`, `body` (the whole JSON answer), `raw` (the answer's text or bytes), `delay_s`, `drip_s`
(between bytes), `drop` (`before`: no answer; `mid`: reset halfway), `cut` (the body ends early), `hang` (no
answer until the host closes). A request for a stream gets one (`synth.testing.streamed_body`). Replies are
used in order; after the last one the host answers 500, unless `repeat_last`. As a program:
`python -m synth.testing.scripted_host --port N --replies FILE.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from synth.llm.scripted import as_reply, completion_body, read_file
from synth.testing import streamed_body
from synth.testing.quiet_http import QuietHandler, QuietServer

Reply = str | dict[str, Any] | Callable[[dict[str, Any]], Any]
_EMPTY_SCRIPT = {"status": 500, "content": "the scripted host has no reply left"}


@dataclass(frozen=True)
class Recorded:
    """One request as it came in. `json` is {} where the body was none."""

    path: str
    headers: dict[str, str]
    json: dict[str, Any]
    at: float = field(default_factory=time.time)

    @property
    def text(self) -> str:
        """Every message of the request, one after the other."""
        return "\n\n".join(str(m.get("content")) for m in self.json.get("messages", []))


class ScriptedHost:
    """The server; a context manager. `base_url` ends in `/v1`."""

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[dict[str, Any]], Any],
        *,
        repeat_last: bool = False,
        port: int = 0,
    ) -> None:
        self._replies: list[Any] = [replies] if callable(replies) else list(replies)
        self._repeat_last = repeat_last or callable(replies)
        self._lock = threading.Lock()
        self.n_used = 0
        self.requests: list[Recorded] = []
        self.closing = threading.Event()
        self._server = QuietServer(_Handler, self, port)
        self.port = int(self._server.server_address[1])
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> ScriptedHost:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering and free the port."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def add(self, *replies: Reply) -> None:
        """More replies for the end of the script."""
        with self._lock:
            self._replies.extend(replies)

    def installed(self, **settings: Any) -> AbstractContextManager[Any]:
        """Django settings that make this the language model of the process."""
        from django.test import override_settings

        chosen = {"LLM_BASE_URL": self.base_url, "LLM_API_KEY": None, "LLM_MODEL": "scripted", **settings}
        return override_settings(**chosen)

    def answer(self, request: Recorded) -> dict[str, Any]:
        """Record a request and give the next reply as a dict."""
        with self._lock:
            self.requests.append(request)
            n, left = self.n_used, len(self._replies)
            self.n_used += 1
            if n < left:
                reply = self._replies[n]
            else:
                reply = self._replies[-1] if self._repeat_last and left else _EMPTY_SCRIPT
        return as_reply(reply(request.json) if callable(reply) else reply)


class _Handler(QuietHandler):
    def do_GET(self) -> None:  # noqa: N802 - the name is the base class's
        """The list of models, for frontends and health checks."""
        models = {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]}
        found = self.path.rstrip("/").endswith("/models")
        body = json.dumps(models if found else {"error": "no such path"})
        self._send(200 if found else 404, body.encode(), {})

    def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
        """The next reply of the script."""
        host = self.server.owner
        request = self._body()
        reply = host.answer(Recorded(self.path, dict(self.headers.items()), request))
        if reply.get("hang"):
            host.closing.wait(600)
            reply = {"drop": "before"}
        if delay := reply.get("delay_s"):
            host.closing.wait(delay)
        if reply.get("drop") == "before":
            self._reset()
            return
        if streamed_body.is_wanted(reply, request):
            self._stream(reply, request)
            return
        raw = reply.get("raw")
        body = json.dumps(completion_body(reply)) if raw is None else raw
        data = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
        self._send(reply.get("status", 200), data, reply.get("headers", {}), reply)

    def _body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _send(
        self, status: int, data: bytes, headers: Mapping[str, str], how: Mapping[str, Any] | None = None
    ) -> None:
        how = how or {}
        self.send_response(status)
        given = {name.lower() for name in headers}
        if "content-type" not in given:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if how.get("drip_s"):
            self._drip(data, float(how["drip_s"]))
            return
        is_partial = bool(how.get("drop") or how.get("cut"))
        self.wfile.write(data[: len(data) // 2] if is_partial else data)
        self.wfile.flush()
        if how.get("drop"):
            self._reset()
        self.close_connection = self.close_connection or is_partial

    def _stream(self, reply: dict[str, Any], request: dict[str, Any]) -> None:
        """One event a write, in a chunked body."""
        how, closing = streamed_body.how_of(reply), self.server.owner.closing
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for n, (data, is_text) in enumerate(streamed_body.events(reply, request)):
            if n == how.get("hang_after"):
                closing.wait(600)
            if is_text and reply.get("token_s"):
                closing.wait(float(reply["token_s"]))
            if n in (how.get("cut_after"), how.get("reset_after")) or (n == 2 and reply.get("drop") == "mid"):
                self._chunk(data[: len(data) // 2], how, reply)
                if n != how.get("cut_after"):
                    self._reset()
                self.close_connection = True
                return
            self._chunk(data, how, reply)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _chunk(self, data: bytes, how: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        size = 1 if reply.get("drip_s") else int(how.get("split", len(data)))
        for at in range(0, len(data), size):
            if reply.get("drip_s") and self.server.owner.closing.wait(float(reply["drip_s"])):
                return
            piece = data[at : at + size]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _drip(self, data: bytes, pause_s: float) -> None:
        for n in range(len(data)):
            if self.server.owner.closing.wait(pause_s):
                return
            self.wfile.write(data[n : n + 1])

    def _reset(self) -> None:
        """End the connection with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def main(arguments: list[str] | None = None) -> int:
    """Serve a file of replies until interrupted; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(description="A scripted language model host.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--replies", required=True, help="JSONL: a string or an object a line")
    parser.add_argument("--repeat-last", action="store_true")
    chosen = parser.parse_args(arguments)
    with ScriptedHost(read_file(chosen.replies), repeat_last=chosen.repeat_last, port=chosen.port) as host:
        sys.stdout.write(f"{host.base_url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
