"""Requests reach Django's threads whole: a body that comes slowly, or never ends, waits outside.

Headers with an underscore are dropped: WSGI would take `X_Forwarded_For` for a proxy's `X-Forwarded-For`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

from synth.api import errors
from synth.api.card_files import MAX_BYTES

LONGEST_S = 60.0
UPLOAD = "/api/agents/import"
Receive = Callable[[], Awaitable[Any]]
Application = Callable[[Any, Receive, Any], Awaitable[None]]


class _Gone(Exception):
    """The client went away in the middle of its body."""


def with_whole_bodies(application: Application) -> Application:
    """The same ASGI application, called once a body is here, up to one byte past the limit.

    A body that takes more than a minute is answered 408. One whose sender went away is never acted on.
    """

    async def whole(scope: Any, receive: Receive, send: Any) -> None:
        try:
            async with asyncio.timeout(LONGEST_S):
                body = await _read(receive, limit_of(scope["path"]))
        except _Gone:
            return
        except TimeoutError:
            await _answer_late(send)
            return
        scope = {**scope, "headers": [(name, value) for name, value in scope["headers"] if b"_" not in name]}
        await application(scope, _replay(body, receive), send)

    return whole


def limit_of(path: str) -> int:
    """The most bytes of a body; an upload has a limit of its own."""
    limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return max(limit, MAX_BYTES) if path.rstrip("/") == UPLOAD else limit


async def _read(receive: Receive, limit: int) -> bytes:
    body = bytearray()
    more = True
    while more and len(body) <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body[: limit + 1])


def _replay(body: bytes, receive: Receive) -> Receive:
    """First the body, then whatever else the server has to say."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return messages.pop() if messages else await receive()

    return again


async def _answer_late(send: Any) -> None:
    raw = json.dumps(errors.body(errors.CODES[408], "The body did not come in time.")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(raw)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 408, "headers": headers})
    await send({"type": "http.response.body", "body": raw})
