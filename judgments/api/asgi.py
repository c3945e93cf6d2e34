"""System One in front of Django's few threads: an ask waits for its reader, so it gets threads of its own."""

from __future__ import annotations

import threading
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
                from a2wsgi import WSGIMiddleware

                from synth.api.whole_bodies import with_whole_bodies
                from synth.wsgi import application

                n_threads = options.read(options.SERVE_AT_ONCE) + SPARE
                self._application = with_whole_bodies(WSGIMiddleware(application, workers=n_threads))
        return self._application
