"""Every error of the System One wire, in the wire's own shapes.

A request that does not validate is 422 with `{"detail": [{"loc": ["body", ...], "msg", "type"}]}`. Every
other error is `{"detail": {"error_type", "message"}}`. Clients retry 408, 429 and 5xx: bad input gets none.
Clients of the OpenAI dialect read `error.message`, so for them the same body carries an `error` object too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Detail = dict[str, Any]
_LONGEST_NAME = 100  # characters of a caller's own text that are quoted back


class WireError(Exception):
    """An answer that is an error: `status`, JSON `payload`, and `retry_after_s` where waiting helps."""

    def __init__(self, status: int, payload: dict[str, Any], retry_after_s: int | None = None) -> None:
        super().__init__(f"{status} {_message(payload)}")
        self.status = status
        self.payload = payload
        self.retry_after_s = retry_after_s

    @property
    def message(self) -> str:
        """The error in one line."""
        return _message(self.payload)

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After, where there is one."""
        return {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}

    def body(self, dialect: str = "systemone") -> dict[str, Any]:
        """The JSON body for that dialect's clients."""
        if dialect != "openai-decisions":
            return self.payload
        detail = self.payload["detail"]
        is_list = isinstance(detail, list)
        kind = "invalid_request_error" if is_list else str(detail["error_type"])
        where = ".".join(str(step) for step in detail[0]["loc"][1:]) if is_list else None
        error = {"message": self.message, "type": kind, "param": where or None, "code": None}
        return {"error": error, **self.payload}


def detail(loc: Iterable[str | int], msg: str, kind: str) -> Detail:
    """One entry of a 422; `loc` is the path inside the body."""
    return {"loc": ["body", *loc], "msg": msg, "type": kind}


def invalid(details: Iterable[Detail]) -> WireError:
    """422: the request does not validate."""
    return WireError(422, {"detail": list(details)})


def failed(status: int, error_type: str, message: str, retry_after_s: int | None = None) -> WireError:
    """Any other error."""
    return WireError(status, {"detail": {"error_type": error_type, "message": message}}, retry_after_s)


def unknown_model(name: str) -> WireError:
    """400: no such model here."""
    return failed(400, "api_usage_error", f"Unknown model: {name[:_LONGEST_NAME]}")


def max_tokens_exceeded(limit: int, found: int | None = None) -> WireError:
    """400: more tokens than the model reads; nothing was cut."""
    size = f" This one has {found}." if found is not None else ""
    return failed(400, "max_tokens_exceeded", f"A request may have at most {limit} tokens.{size}")


def not_authenticated(message: str, status: int = 401) -> WireError:
    """401 or 403: no key, or one that does not open this."""
    return failed(status, "authentication_error", message)


def not_found(path: str) -> WireError:
    """404: no such route."""
    return failed(404, "not_found", f"No route {path[:_LONGEST_NAME]}")


def method_not_allowed(method: str) -> WireError:
    """405: the route exists and takes another method."""
    return failed(405, "method_not_allowed", f"{method[:_LONGEST_NAME]} is not answered here")


def too_large(limit_bytes: int) -> WireError:
    """413: more bytes than are read, before or after decoding."""
    return failed(413, "request_too_large", f"A request may have at most {limit_bytes} bytes.")


def unsupported(what: str) -> WireError:
    """415: a media type or content encoding that is not read here."""
    return failed(415, "unsupported_media_type", f"Not supported: {what[:_LONGEST_NAME]}")


def corrupt(what: str) -> WireError:
    """400: a body that does not decode as its headers say."""
    return failed(400, "api_usage_error", f"The body is not valid {what[:_LONGEST_NAME]}.")


def rate_limited(retry_after_s: int, message: str = "Too many requests with this key.") -> WireError:
    """429: this caller is over its quota."""
    return failed(429, "rate_limit_error", message, retry_after_s)


def overloaded(retry_after_s: int = 1) -> WireError:
    """529: the queue is full."""
    return failed(529, "overloaded_error", "The queue is full.", retry_after_s)


def unavailable(reason: str, retry_after_s: int = 5) -> WireError:
    """503: nothing that could answer is running."""
    return failed(503, "service_unavailable", reason, retry_after_s)


def _message(payload: dict[str, Any]) -> str:
    found = payload["detail"]
    if isinstance(found, list):
        parts = (f"{'.'.join(str(step) for step in item['loc'][1:])}: {item['msg']}" for item in found[:3])
        return "; ".join(part.removeprefix(": ") for part in parts)
    return str(found["message"])
