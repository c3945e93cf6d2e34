"""What the environment says about long turns and about memories in chats; read at use, checked at start."""

from __future__ import annotations

import os
from typing import Any

from django.core.checks import CheckMessage, Error, register

from synth.options import BadOption, Option, declare

CHECK_IN_EVERY = Option(
    "CHECK_IN_EVERY", "int", 50, "Actions of one turn from one check-in to the next; 0: no check-ins.",
    minimum=0, maximum=10_000,
)  # fmt: skip
CHECK_IN_MODE = Option(
    "CHECK_IN_MODE", "choice", "ask",
    "At a check-in: ask the person (the turn goes on meanwhile), nudge the model, or only notify.",
    choices=("ask", "nudge", "notify"),
)  # fmt: skip
CHECK_IN_IGNORE = Option("CHECK_IN_IGNORE", "list", [], "Names of actions that check-ins do not count.")
LLM_CONTEXT_TOKENS = Option(
    "LLM_CONTEXT_TOKENS", "int", 0,
    "Context window of the language model; reads of memories stay below half of it; 0: unknown.",
    minimum=0, maximum=100_000_000,
)  # fmt: skip
MEMORY_READ_MAX_CHARS = Option(
    "MEMORY_READ_MAX_CHARS", "int", 0, "Most characters of a memory that one read gives; 0: no cap.",
    minimum=0, maximum=100_000_000,
)  # fmt: skip
MINE = (CHECK_IN_EVERY, CHECK_IN_MODE, CHECK_IN_IGNORE, LLM_CONTEXT_TOKENS, MEMORY_READ_MAX_CHARS)
declare(*MINE)


def read(option: Option) -> Any:
    """The value that holds now; BadOption for one that does not fit."""
    return option.read(os.environ)


@register()
def turn_options_fit(**_: Any) -> list[CheckMessage]:
    """Every one of these values fits its type."""
    found: list[CheckMessage] = []
    for option in MINE:
        try:
            read(option)
        except BadOption as error:
            found.append(Error(str(error), id="synth.E010"))
    return found
