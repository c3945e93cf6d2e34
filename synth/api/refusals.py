"""Leaves an audit entry when somebody known tried to change what they may not, or what a rule refused."""

from __future__ import annotations

from typing import Any

import structlog
from django.db import DatabaseError

from synth.models import Door, Person
from synth.services import audit

log = structlog.get_logger(__name__)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def note_refusal(context: dict[str, Any], answer: Any) -> None:
    """Record a refused unsafe request of a known person; trouble with the record never changes the answer."""
    request = context.get("request")
    if request is None or request.method in SAFE_METHODS:
        return
    # `_user`: asking `user` would authenticate again where authentication itself was refused.
    person = getattr(request, "_user", None)
    if not isinstance(person, Person):
        return
    try:
        audit.record_refused(
            person,
            door=Door.REST,
            action=request.method.lower(),
            object=request.path[:150],
            reason=answer["error"]["code"],
        )
    except DatabaseError:
        log.exception("refusal_not_recorded")
