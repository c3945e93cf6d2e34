"""System One in front of Django's few threads: an ask waits for its reader, so it gets threads of its own."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

from judgments import options

SPARE = 8  # threads that say 529 while all others wait


class OwnThreads:
    """The Django application behind a thread pool of its own, made with the first request."""

    def __init__(self) -> None:
        self._application: Any = None
        self._lock = threading.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        await self._made()(scope, receive, send)

    def _made(self) -> Any:
        with self._lock:
            if self._application is None:
                from synth.api.whole_bodies import with_whole_bodies
                from synth.wsgi import application

                n_threads = options.read(options.SERVE_AT_ONCE) + SPARE
                self._application = with_whole_bodies(_in_one_go(application, n_threads))
        return self._application


def _in_one_go(application: Any, n_threads: int) -> Any:
    """A WSGI application with whole bodies and short answers as ASGI: to a thread and back once a request."""
    from a2wsgi.wsgi import build_environ

    threads = ThreadPoolExecutor(n_threads, "systemone")

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        body: Any = BytesIO((await receive())["body"])
        environ = build_environ(scope, body)
        # Its own context, as each request has under Django.
        call = contextvars.copy_context().run
        start, raw = await asyncio.get_running_loop().run_in_executor(
            threads, call, _answer, application, environ
        )
        await send(start)
        await send({"type": "http.response.body", "body": raw})

    return serve


def _answer(application: Any, environ: Any) -> tuple[dict[str, Any], bytes]:
    """The start of the response as ASGI has it, and its body."""
    start: dict[str, Any] = {"type": "http.response.start"}

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        start["status"] = int(status.split(" ", 1)[0])
        start["headers"] = [(name.lower().encode("latin-1"), v.encode("latin-1")) for name, v in headers]

    parts = application(environ, start_response)
    try:
        return start, b"".join(parts)
    finally:
        getattr(parts, "close", lambda: None)()
