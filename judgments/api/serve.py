"""The System One server: `POST /v1/systemone`, `POST /v1/decisions`, `GET /v1/models`.

Plain views, because the wire has error shapes of its own, takes bodies in zstd and multipart, and must
answer every bad request below 500: clients try 5xx again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request

from judgments import options, wire, wire_errors
from judgments.api import bodies
from judgments.services import serving
from judgments.wire_errors import WireError
from synth import selectors
from synth.api import auth, throttles
from synth.errors import DomainError
from synth.schemas import Caller
from synth.services import keys

if TYPE_CHECKING:
    from synth.models import ApiKey, Person

SCHEMES = ("bearer", "token")
SCOPE = "systemone"
log = structlog.get_logger(__name__)
Answer = Callable[..., dict[str, Any]]
View = Callable[..., HttpResponse]


def _wire_view(method: str, dialect: str) -> Callable[[Answer], View]:
    """A view of one method whose every answer is JSON in the wire's shapes, with a request id."""

    def decorate(answer: Answer) -> View:
        @csrf_exempt
        @wraps(answer)
        def view(request: HttpRequest, **named: str) -> HttpResponse:
            try:
                if request.method != method and not (method == "GET" and request.method == "HEAD"):
                    raise wire_errors.method_not_allowed(str(request.method))
                response = _json(answer(request, **named), 200)
            except WireError as error:
                response = _refused(error, dialect)
            except (OperationalError, InterfaceError) as error:
                log.warning("database_unavailable", error=str(error))
                response = _refused(wire_errors.unavailable("The database does not answer."), dialect)
            except RecursionError:
                problem = wire_errors.detail([], "Nested too deeply", "too_deep")
                response = _refused(wire_errors.invalid([problem]), dialect)
            except Exception:  # noqa: BLE001 - whatever broke, a client of the wire gets its error shape
                log.exception("systemone_failed")
                response = _refused(wire_errors.failed(500, "internal_error", "Something broke."), dialect)
            response[wire.REQUEST_ID_HEADER] = wire.new_request_id()
            if response.status_code == 405:
                response["Allow"] = "GET, HEAD" if method == "GET" else method
            return response

        return view

    return decorate


def _json(body: Any, status: int) -> HttpResponse:
    return HttpResponse(wire.render(body), status=status, content_type="application/json")


def _refused(error: WireError, dialect: str) -> HttpResponse:
    response = _json(error.body(dialect), error.status)
    for name, value in error.headers.items():
        response[name] = value
    if error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="synth"'
    return response


def _authenticated(request: HttpRequest) -> ApiKey:
    """The calling key. WireError 401 without one, 403 when it may not ask, 429 when it asks too much."""
    key = _key(request)
    if not _caller(key, key.person).has_scope(SCOPE):
        raise wire_errors.not_authenticated("The key's scopes do not include systemone.", 403)
    return key


def _key(request: HttpRequest) -> ApiKey:
    """The calling key, whatever it may do. WireError 401, 429."""
    scheme, _, plain = request.headers.get("Authorization", "").strip().partition(" ")
    if scheme.lower() not in SCHEMES or not plain.strip():
        _count_address(request)
        raise wire_errors.not_authenticated("A key is needed: Authorization: Bearer <key>.")
    with serving.with_database():
        key = keys.authenticate(plain.strip())
    if key is None:
        _count_address(request)
        raise wire_errors.not_authenticated("The key is not known, or it was revoked.")
    if wait_s := throttles.count(f"systemone:{key.pk}", options.read(options.RATE_PER_KEY)):
        raise wire_errors.rate_limited(wait_s)
    return key


def _caller(key: ApiKey, person: Person) -> Caller:
    return Caller(
        person=person,
        key=key,
        is_operator=False,
        may_train=False,
        app=key.person if key.role == "app" else None,
    )


def _lister(request: HttpRequest) -> Caller:
    """Who wants to see the models: a key and whom it acts for, or who is logged in."""
    if "Authorization" not in request.headers and request.user.is_authenticated:
        return auth.caller_of(request)
    key = _key(request)
    try:
        with serving.with_database():
            return _caller(key, auth.acted_for(request, key))
    except DomainError as error:
        raise wire_errors.failed(error.status, error.code, error.message) from None


def _agents(caller: Caller) -> list[wire.ModelInfo]:
    """The agents a caller may talk to, as models of the chat door."""
    rows = selectors.agents_seen(caller).filter(archived_at=None).order_by("slug")
    return [
        wire.ModelInfo(f"synth/{row.slug}", f"The agent {row.name}.", row.created_at.date().isoformat())
        for row in rows
    ]


def _count_address(request: HttpRequest) -> None:
    if wait_s := throttles.count_address(cast(Request, request)):
        raise wire_errors.rate_limited(wait_s, "Too many requests without a key.")


def _answer(request: HttpRequest, dialect: str) -> dict[str, Any]:
    key = _authenticated(request)
    ask = wire.parse_request(bodies.read(request), dialect)
    if ask.model != serving.LATEST:
        with serving.with_database():
            serving.check_model(ask.model)
    return serving.body(ask, serving.answer(ask, key=key))


@_wire_view("POST", "systemone")
def systemone(request: HttpRequest) -> dict[str, Any]:
    """Answer typed questions about a state."""
    return _answer(request, "systemone")


@_wire_view("POST", "openai-decisions")
def decisions(request: HttpRequest) -> dict[str, Any]:
    """The same in the OpenAI dialect."""
    return _answer(request, "openai-decisions")


@_wire_view("GET", "systemone")
def models(request: HttpRequest) -> dict[str, Any]:
    """What may be asked for by name: readers of System One, and agents for clients of the OpenAI API."""
    return wire.models_body(_models(request))


@_wire_view("GET", "openai-decisions")
def model(request: HttpRequest, name: str) -> dict[str, Any]:
    """One of them."""
    found = [row for row in _models(request) if row.name == name]
    if not found:
        raise wire_errors.failed(404, "model_not_found", "There is no such model.")
    (body,) = wire.models_body(found)["data"]
    return dict(body)


def _models(request: HttpRequest) -> list[wire.ModelInfo]:
    caller = _lister(request)
    with serving.with_database():
        readers = serving.models() if caller.has_scope(SCOPE) else []
        return [*readers, *(_agents(caller) if caller.has_scope("chat") else [])]
