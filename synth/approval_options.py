"""What the environment says about approvals; read at each use, checked at start."""

from __future__ import annotations

import os
from datetime import timedelta

from synth.options import Option, declare

TTL_S = Option(
    "APPROVAL_TTL_S",
    "int",
    1800,
    "How long a person is waited for when an action needs their word; then it is not done.",
    minimum=10,
    maximum=604_800,
)
declare(TTL_S)


def ttl() -> timedelta:
    """How long a question stays open; BadOption for a value that does not fit."""
    return timedelta(seconds=int(TTL_S.read(os.environ)))
