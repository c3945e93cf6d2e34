"""Django checks a request and saves what it asks for; the plain-ASGI front streams or waits.

A view answers with `handoff(request, kind, …)`. Its header `X-Synth-Stream` never leaves the process: the
front takes it for its order and serves the kind, while no thread and no database connection is held. Views
know that a front is there by a secret header that changes with each process; clients cannot send it.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import structlog
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.response import Response

from synth.api import errors
from synth.api.auth import caller_of
from synth.errors import Unavailable
from synth.models import ApiKey

ORDER = "X-Synth-Stream"
FRONT, AGAIN = b"x-synth-front", b"x-synth-again"
OURS = frozenset({FRONT, AGAIN, ORDER.lower().encode()})
# Of the first request only; a second one has no body.
OF_THE_BODY = frozenset(
    {b"content-length", b"content-type", b"content-encoding", b"transfer-encoding", b"expect"}
)
# What Django says of its own empty answer.
OF_THE_ANSWER = frozenset(
    {b"content-length", b"content-type", b"cache-control", b"etag", ORDER.lower().encode()}
)
_secret = secrets.token_urlsafe(32)
Application = Callable[[Any, Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Handed:
    """An order for the front. `data` is what the view gave; `headers` are those Django would send."""

    scope: Any
    receive: Any
    send: Any
    kind: str
    data: dict[str, Any]
    headers: Headers
    django: Application

    async def again(self, path: str) -> None:
        """Answer with what Django says to `GET path` with the same credentials; `is_again` is then True."""
        kept = [
            (name, value) for name, value in self.scope["headers"] if name.lower() not in OURS | OF_THE_BODY
        ]
        scope = {
            **self.scope,
            "method": "GET",
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": b"",
            "headers": [*kept, (FRONT, _secret.encode()), (AGAIN, b"1")],
        }
        await self.django(scope, _nothing, self.send)

    async def answer(self, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
        """A whole answer in JSON; none is without a type."""
        kind = [(b"content-type", b"application/json")] if body else []
        sized = [*kind, (b"content-length", str(len(body)).encode())] if status != 204 else []
        headers = [*self.headers, *sized, *more]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, status: int, message: str, *, retry_after_s: int, **details: Any) -> None:
        """An error in the API's shape, with the code of its status."""
        body = errors.body(errors.CODES[status], message, **details)
        await self.answer(status, json.dumps(body).encode(), (b"retry-after", str(retry_after_s).encode()))


Serve = Callable[[Handed], Awaitable[None]]
KINDS: dict[str, Serve] = {}


def serves(kind: str) -> Callable[[Serve], Serve]:
    """Decorates what the front does with an order of that kind."""

    def add(serve: Serve) -> Serve:
        KINDS[kind] = serve
        return serve

    return add


def is_fronted(request: Request | HttpRequest) -> bool:
    """Whether the front is there to take an order."""
    return hmac.compare_digest(request.META.get("HTTP_X_SYNTH_FRONT", "").encode(), _secret.encode())


def need_front(request: Request) -> None:
    """Unavailable `no_stream_here` where Django serves alone."""
    if not is_fronted(request):
        raise Unavailable("This server cannot stream.", code="no_stream_here")


def is_again(request: Request | HttpRequest) -> bool:
    """Whether the front asks a second time, to answer what it waited for."""
    return is_fronted(request) and "HTTP_X_SYNTH_AGAIN" in request.META


def handoff(request: Request, kind: str, **data: Any) -> Response | None:
    """An order for the front, or None where there is none (Django alone, as in tests): then do it here.

    `data` is JSON. Everything that can be refused is refused before. Whoever asked goes along, so that the
    stream of a key that is revoked ends.
    """
    if not is_fronted(request):
        return None
    order = {"kind": kind, "who": _who(request), **data}
    return Response(status=200, headers={ORDER: json.dumps(order)})


def _who(request: Request) -> dict[str, Any]:
    """What still has to hold while a stream is open; see `synth.api.credentials`."""
    who: dict[str, Any] = {"person": request.user.pk}
    if isinstance(request.auth, ApiKey):
        return {**who, "key": request.auth.pk}
    session = getattr(request, "session", None)
    key = getattr(request, "ticket_session", None) or (session.session_key if session is not None else None)
    return {**who, "session": key, "hash": caller_of(request).person.get_session_auth_hash()}


def with_handoff(django: Application) -> Application:
    """The same ASGI application, whose orders are served and whose secret header is ours alone."""

    async def fronted(scope: Any, receive: Any, send: Any) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in OURS]
        inner = {**scope, "headers": [*headers, (FRONT, _secret.encode())]}
        door = _Door(send)
        await django(inner, receive, door)
        if door.order is not None:
            kind = door.order.pop("kind")
            handed = Handed(scope, receive, send, kind, door.order, door.headers, django)
            del door, inner, headers
            await KINDS[kind](handed)

    return fronted


class _Door:
    """Lets an answer through, or keeps an order."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self.order: dict[str, Any] | None = None
        self.headers: Headers = []

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower(): value for name, value in message["headers"]}
            if (raw := given.get(ORDER.lower().encode())) is not None:
                self.order = json.loads(raw)
                kept = (pair for pair in message["headers"] if pair[0].lower() not in OF_THE_ANSWER)
                self.headers = [(bytes(name), bytes(value)) for name, value in kept]
        if self.order is None:
            await self._send(message)


async def _nothing() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}
