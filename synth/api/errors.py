"""Every error of the REST API in one shape: `{"error": {"code", "message", "field"?}}`, by status."""

from __future__ import annotations

from typing import Any

import structlog
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from psycopg.errors import ForeignKeyViolation
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.settings import api_settings

from synth.errors import DomainError, Unavailable
from synth.openai import chunks

log = structlog.get_logger(__name__)
API_PREFIXES = ("/api/", "/v1/")
CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "refused",
    429: "throttled",
    500: "internal_error",
    503: "unavailable",
}

OF_THE_BODY = ("duplicate_key", "lone_surrogate", "nul_character", "too_deep", "unknown_field")
REFUSED = (403, 409, 422)  # what somebody tried and was refused is on record; malformed requests are not


class TooLarge(exceptions.APIException):
    """The body is over the limit."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "The body is too large."
    default_code = "too_large"


def body(code: str, message: str, field: str | None = None, **details: Any) -> dict[str, Any]:
    """The error body; details stand beside the code."""
    error: dict[str, Any] = {"code": code, "message": printable(message), **details}
    if field:
        error["field"] = printable(field)
    return {"error": error}


def printable(text: str) -> str:
    """The same text without what UTF-8 or a log line cannot hold, at most 500 characters."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0")[:500]


def handler(exc: Exception, context: dict[str, Any]) -> Response:
    """The answer to any exception of a view; an unknown one is logged and is a 500 with its request id."""
    from synth.api.refusals import note_refusal

    answer = _known(exc)
    if answer is None:
        request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
        log.exception("request_failed", exc_info=exc)
        answer = Response(
            body(CODES[500], "Something broke; the log has it under this request id.", request_id=request_id),
            status=500,
        )
    if answer.status_code in REFUSED and not getattr(exc, "is_on_record", False):
        note_refusal(context, answer.data)
    return answer


def _known(exc: Exception) -> Response | None:
    if isinstance(exc, DomainError):
        headers = {"Retry-After": str(exc.retry_after_s)} if isinstance(exc, Unavailable) else {}
        return Response(
            body(exc.code, exc.message, exc.field, **exc.details), status=exc.status, headers=headers
        )
    if isinstance(exc, Http404):
        return Response(body(CODES[404], "There is no such thing."), status=404)
    if isinstance(exc, PermissionDenied):
        return Response(body(CODES[403], "You may not do this."), status=403)
    if isinstance(exc, RequestDataTooBig):
        return _known(TooLarge())
    if isinstance(exc, DjangoValidationError):
        return Response(body(CODES[400], "; ".join(exc.messages)), status=400)
    if isinstance(exc, SuspiciousOperation):
        return Response(body(CODES[400], "The request is malformed."), status=400)
    if isinstance(exc, IntegrityError) and isinstance(exc.__cause__, ForeignKeyViolation):
        log.warning("row_went_meanwhile", error=str(exc))
        return Response(body(CODES[409], "Something this refers to was removed meanwhile."), status=409)
    if isinstance(exc, OperationalError | InterfaceError):
        log.warning("database_unavailable", error=str(exc))
        return Response(
            body(CODES[503], "The database does not answer."), status=503, headers={"Retry-After": "5"}
        )
    return _of_rest_framework(exc) if isinstance(exc, exceptions.APIException) else None


def _of_rest_framework(exc: exceptions.APIException) -> Response:
    headers = {}
    if auth_header := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = str(auth_header)
    wait = getattr(exc, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, int(wait)))
    field, message, inner = _first(exc.detail)
    code = CODES.get(exc.status_code, "invalid")
    if isinstance(exc, exceptions.AuthenticationFailed) or inner in OF_THE_BODY:
        code = inner
    if code == "authentication_failed":
        code = CODES[401]
    return Response(body(code, message, field), status=exc.status_code, headers=headers)


def _first(detail: Any, path: str = "") -> tuple[str | None, str, str]:
    """The first complaint of a validation error: its field (dotted), message and code."""
    if isinstance(detail, dict) and detail:
        name, inner = next(iter(detail.items()))
        is_general = name in (api_settings.NON_FIELD_ERRORS_KEY, "detail")
        return _first(inner, path if is_general else f"{path}.{name}".lstrip("."))
    if isinstance(detail, list | tuple) and detail:
        inner = next((item for item in detail if item), detail[0])
        return _first(inner, path)
    return path or None, str(detail), str(getattr(detail, "code", "invalid"))


def is_api_path(path: str) -> bool:
    """True where every answer is JSON, also for paths that do not exist."""
    return path.startswith(API_PREFIXES)


def plain_json(request: HttpRequest, status_code: int, message: str) -> HttpResponseBase:
    """An error body outside of any REST view; below `/v1` with all that OpenAI clients read."""
    said = body(CODES[status_code], message)
    if request.path.startswith("/v1"):
        said["error"] |= chunks.refusal(status_code, message, CODES[status_code])
    return JsonResponse(said, status=status_code)
