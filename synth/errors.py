"""The errors services raise; the REST layer turns each into one documented answer.

Every error has a stable `code`, a sentence for people, and the field it is about where there is one. `status`
is the HTTP status of the answer; `details` are extra keys inside `{"error": {...}}`.
"""

from __future__ import annotations

from typing import Any


class DomainError(Exception):
    """Something a caller asked for cannot be done; nothing was changed.

    `is_on_record` once the refused try has its audit entry, so that the next door writes no second one.
    """

    status = 422
    default_code = "refused"
    is_on_record = False

    def __init__(
        self, message: str, *, code: str | None = None, field: str | None = None, **details: Any
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.field = field
        self.details = details


class Invalid(DomainError):
    """Malformed input: the request could never succeed as written."""

    status = 400
    default_code = "invalid"


class Unauthenticated(DomainError):
    """No credentials, or credentials that do not hold."""

    status = 401
    default_code = "not_authenticated"


class NotAllowed(DomainError):
    """The caller may see the thing but not do this to it."""

    status = 403
    default_code = "not_allowed"


class NotFound(DomainError):
    """The thing does not exist, or belongs to somebody else."""

    status = 404
    default_code = "not_found"


class Conflict(DomainError):
    """The row moved meanwhile; `details` say who and when, where known."""

    status = 409
    default_code = "conflict"


class Refused(DomainError):
    """Understood, and refused by a rule."""

    status = 422
    default_code = "refused"


class Unavailable(DomainError):
    """Not now: a dependency is missing or down. `retry_after_s` goes into Retry-After."""

    status = 503
    default_code = "unavailable"

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: int = 5,
        code: str | None = None,
        field: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, code=code, field=field, **details)
        self.retry_after_s = retry_after_s


class TooMany(Unavailable):
    """The caller has too many of something running; later there may be room again."""

    status = 429
    default_code = "too_many"
