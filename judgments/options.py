"""What the environment says about judgments; read at each use, checked at start."""

from __future__ import annotations

import os
from typing import Any

from synth.options import OPTIONS, Option, declare

APP = "judgments"
TIMEOUT_MS = Option(
    "SYSTEM_ONE_TIMEOUT_MS", "int", 1500, "Longest a judgment is waited for.",
    app=APP, minimum=10, maximum=600_000,
)  # fmt: skip
LATER_TIMEOUT_MS = Option(
    "SYSTEM_ONE_LATER_TIMEOUT_MS", "int", 60_000, "The same in the background, retries included.",
    app=APP, minimum=10, maximum=600_000,
)  # fmt: skip
DIALECT = Option(
    "SYSTEM_ONE_DIALECT", "choice", "systemone", "What the host speaks.",
    app=APP, choices=("systemone", "openai-decisions"),
)  # fmt: skip
PATH = Option(
    "SYSTEM_ONE_PATH", "text", "", "Path of the endpoint at that host; blank: the dialect's own.",
    app=APP,
)  # fmt: skip
AUTH_HEADER = Option(
    "SYSTEM_ONE_AUTH_HEADER", "text", "Authorization", "Header that carries the host's key.", app=APP
)
AUTH_SCHEME = Option(
    "SYSTEM_ONE_AUTH_SCHEME", "text", "Bearer", "Word before the key; `none`: the key alone.", app=APP
)
RUNS = Option("SYSTEM_ONE_RUNS", "bool", True, "Whether asks are saved at all.", app=APP)
RUNS_MAX_MIB = Option(
    "SYSTEM_ONE_RUNS_MAX_MIB", "int", 100, "Saved asks without labels, in all; the oldest days go first.",
    app=APP, minimum=1, maximum=1_048_576,
)  # fmt: skip
RETENTION_DAYS = Option(
    "SESSION_RETENTION_DAYS", "int", 14, "Days that asks without labels are kept; 0: for ever.",
    app=APP, minimum=0, maximum=36_500,
)  # fmt: skip
SERVED_BY = Option(
    "SYSTEM_ONE_SERVED_BY", "text", "local",
    "Who answers clients of `/v1/systemone`: `local` (the torch worker), or the address of another host.",
    app=APP,
)  # fmt: skip
LANGUAGE_MODEL = Option(
    "SYSTEM_ONE_LM", "text", None,
    "A causal language model for questions without a trained head: a folder or a `.gguf` file. "
    "Read by the torch worker; slow, and its answers are not calibrated.",
    app=APP,
)  # fmt: skip
SERVE_TIMEOUT_MS = Option(
    "SYSTEM_ONE_SERVE_TIMEOUT_MS", "int", 8_000, "Longest a client waits; theirs give up after 10 s.",
    app=APP, minimum=10, maximum=600_000,
)  # fmt: skip
SERVE_AT_ONCE = Option(
    "SYSTEM_ONE_SERVE_AT_ONCE", "int", 96, "Asks of clients at a time in one web process; more: 529.",
    app=APP, minimum=1, maximum=1_024,
)  # fmt: skip
RATE_PER_KEY = Option(
    "SYSTEM_ONE_RATE_PER_KEY", "int", 6_000, "Asks a minute for one key; 0: no limit.", app=APP, minimum=0
)
APPROVALS_AUTO = Option(
    "APPROVALS_AUTO", "list", [],
    "Actions (or keys of their scopes) that System 1 may allow without a person; none: it never does.",
    app=APP,
)  # fmt: skip
APPROVALS_PERCENT = Option(
    "APPROVALS_PERCENT", "int", 95, "How sure System 1 must be to allow one of these, in percent.",
    app=APP, minimum=50, maximum=100,
)  # fmt: skip
APPROVALS_RECORD = Option(
    "APPROVALS_RECORD", "int", 20,
    "Latest decisions of a rule, by one model, that a single complaint spoils.",
    app=APP, minimum=1, maximum=10_000,
)  # fmt: skip
MINE = (
    TIMEOUT_MS, LATER_TIMEOUT_MS, DIALECT, PATH, AUTH_HEADER, AUTH_SCHEME, RUNS, RUNS_MAX_MIB,
    RETENTION_DAYS, SERVED_BY, LANGUAGE_MODEL, SERVE_TIMEOUT_MS, SERVE_AT_ONCE, RATE_PER_KEY,
    APPROVALS_AUTO, APPROVALS_PERCENT, APPROVALS_RECORD,
)  # fmt: skip
declare(*MINE)


def read(option: Option | str) -> Any:
    """The value that holds now; BadOption for one that does not fit."""
    found = OPTIONS[option] if isinstance(option, str) else option
    return found.read(os.environ)
