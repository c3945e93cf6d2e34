"""Who calls: API keys in `Authorization: Bearer` or `Token`, and the `Caller` behind any request.

A key's role only narrows what its person may. An app key acts for a plain person named in `X-Person`, and for
its own service person without it.
"""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from synth import selectors
from synth.api import throttles
from synth.errors import NotAllowed, NotFound
from synth.models import ApiKey, Person, Role
from synth.schemas import Caller
from synth.services import keys

SCHEMES = ("bearer", "token")


class ApiKeyAuthentication(BaseAuthentication):
    """Sets `request.user` to the person acted for, `request.auth` to the key; leaves other schemes alone."""

    def authenticate(self, request: Request) -> tuple[Person, ApiKey] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        scheme, _, plain = header.strip().partition(" ")
        if scheme.lower() not in SCHEMES:
            return None
        key = keys.authenticate(plain.strip())
        if key is None:
            if wait_s := throttles.count_address(request):
                raise Throttled(wait=wait_s)
            raise AuthenticationFailed("The key is not known, or it was revoked.", code="invalid_key")
        return acted_for(request, key), key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="synth"'


def _header_person(request: Request | HttpRequest) -> str:
    """The `X-Person` header; servers hand header bytes over as latin-1, usernames are UTF-8."""
    raw = str(request.META.get("HTTP_X_PERSON", "")).strip()
    try:
        return raw.encode("latin-1").decode()
    except UnicodeError:
        return raw


def acted_for(request: Request | HttpRequest, key: ApiKey) -> Person:
    """Whom a key acts for: its person, or for an app key the plain one that `X-Person` names."""
    username = _header_person(request)
    if not username or username == key.person.username:
        return key.person
    if key.role != Role.APP:
        raise NotAllowed("Only an app key may act for another person.", field="X-Person")
    person = None if "\x00" in username else selectors.person_by_username(username)
    if person is None:
        raise NotFound("There is no such person.", code="person_not_found", field="X-Person")
    if not selectors.is_plain(person):
        raise NotAllowed("An app never acts for a trainer or an operator.", field="X-Person")
    return person


def caller_of(request: Request | HttpRequest) -> Caller:
    """The caller of an authenticated request. TypeError before authentication."""
    person = request.user
    if not isinstance(person, Person):
        raise TypeError("caller_of needs an authenticated request")
    key = getattr(request, "auth", None)
    if not isinstance(key, ApiKey):
        return Caller(person=person, key=None, is_operator=person.is_operator, may_train=True)
    return Caller(
        person=person,
        key=key,
        is_operator=person.is_operator and key.role == Role.OPERATOR,
        may_train=key.role in (Role.OPERATOR, Role.TRAINER),
        app=key.person if key.role == Role.APP else None,
    )
