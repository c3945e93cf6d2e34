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
ASK_ABOUT = Option(
    "APPROVAL_ASK_ABOUT",
    "choice",
    "suspicious",
    "Actions that change something and can be undone are asked about when something looks suspicious, or "
    "always when the model was shown texts that the person did not write (diary, memories, results of "
    "tools).",
    choices=("suspicious", "others_texts"),
)
declare(TTL_S, ASK_ABOUT)


def ttl() -> timedelta:
    """How long a question stays open; BadOption for a value that does not fit."""
    return timedelta(seconds=int(TTL_S.read(os.environ)))


def is_strict() -> bool:
    """Whether any text of others is reason enough to ask; BadOption for a value that does not fit."""
    return bool(ASK_ABOUT.read(os.environ) == "others_texts")
