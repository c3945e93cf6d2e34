"""Short-lived tickets for clients that cannot send headers with a stream, such as a browser's EventSource.

A ticket is signed, holds for one purpose and 60 s, and opens nothing but that stream. What it stands for is
checked again each time: a key that was revoked opens nothing.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

import redis
from django.core import signing
from django.core.cache import cache
from django.utils.timezone import now
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from synth.api import credentials, throttles
from synth.api.auth import ApiKeyAuthentication, caller_of
from synth.api.base import Api
from synth.api.fields import Strict
from synth.errors import Unavailable
from synth.models import ApiKey, Person

VALID_S = 60
SALT = "synth.stream-ticket"
MAX_CHARS = 1_000
PURPOSES = ("reminders", "chat")


class AnyAccept(DefaultContentNegotiation):
    """A stream is a stream and its errors are JSON, whatever the client says it accepts."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class TicketBody(Strict):
    """What the ticket is for: one's deliveries (`/api/reminders/stream`), or answers (`/api/chat/stream`)."""

    stream = serializers.ChoiceField(choices=PURPOSES, default=PURPOSES[0])


class TicketOut(serializers.Serializer[Any]):
    """Goes into `?ticket=`. A client that reconnects later than `expires_at` asks for a new one."""

    ticket = serializers.CharField()
    expires_at = serializers.DateTimeField()


class TicketsView(Api):
    """Tickets for streams."""

    serializer_class = TicketOut
    pagination_class = None

    @extend_schema(operation_id="stream_tickets_create", request=TicketBody, responses={201: TicketOut})
    def post(self, request: Request) -> Response:
        """A ticket that opens one kind of stream as the caller, for a minute. Needs no body."""
        values = self.checked(TicketBody)
        given = {"for": values["stream"], "person": request.user.pk, **_proof(request)}
        ticket = signing.dumps(given, salt=SALT, compress=True)
        expires_at = now() + timedelta(seconds=VALID_S)
        return self.shown({"ticket": ticket, "expires_at": expires_at}, TicketOut, status=201)


def _proof(request: Request) -> dict[str, Any]:
    """What the ticket stands on: a key, or the login of a browser, whose secret stays on the server."""
    if isinstance(request.auth, ApiKey):
        return {"key": request.auth.pk}
    name = secrets.token_urlsafe(16)
    try:
        cache.set(f"ticket:{name}", request.session.session_key, timeout=VALID_S)
    except (redis.RedisError, OSError):
        raise Unavailable("Redis does not answer.") from None
    return {"login": name, "hash": caller_of(request).person.get_session_auth_hash()}


class TicketAuthentication(BaseAuthentication):
    """Takes `?ticket=` of GET requests for the view's `ticket_purpose`; leaves requests without one alone."""

    def authenticate(self, request: Request) -> tuple[Person, ApiKey | None] | None:
        view = (request.parser_context or {}).get("view")
        purpose = getattr(view, "ticket_purpose", None)
        ticket = request.query_params.get("ticket")
        if ticket is None or purpose is None or request.method not in ("GET", "HEAD"):
            return None
        found = _read(ticket, purpose)
        if found is None:
            if wait_s := throttles.count_address(request):
                raise Throttled(wait=wait_s)
            raise AuthenticationFailed("The ticket does not hold (any more).", code="invalid_ticket")
        person, key, session = found
        request.ticket_session = session  # type: ignore[attr-defined]
        return person, key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="synth"'


OF_STREAMS: list[type[BaseAuthentication]] = [
    TicketAuthentication,
    ApiKeyAuthentication,
    SessionAuthentication,
]


def _read(ticket: str, purpose: str) -> tuple[Person, ApiKey | None, str] | None:
    try:
        given = signing.loads(ticket[:MAX_CHARS], salt=SALT, max_age=VALID_S)
    except signing.BadSignature:
        return None
    if given.get("for") != purpose:
        return None
    who = {"person": given["person"]}
    session = ""
    if "key" in given:
        who["key"] = given["key"]
    else:
        try:
            session = str(cache.get(f"ticket:{given['login']}") or "")
        except (redis.RedisError, OSError):
            raise Unavailable("Redis does not answer.") from None
        if not session:
            return None
        who |= {"session": session, "hash": given["hash"]}
    if not credentials.holds([who])[0]:
        return None
    person = Person.objects.get(pk=given["person"])
    if "key" not in given:
        return person, None, session
    return person, ApiKey.objects.select_related("person").get(pk=given["key"]), session
