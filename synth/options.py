"""Every environment setting in one table: name, type, default, meaning.

`settings.py` reads the table, `docs/configuration.md` is generated from it, and a value that does not fit its
type is refused at start with the name and what is allowed. Options with `per_agent=True` override a row of an
agent's settings; the owning app reads them at use, not at start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "int", "bool", "choice", "list", "url"]
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


class BadOption(ValueError):
    """A value in the environment that its option does not allow."""


@dataclass(frozen=True)
class Option:
    """One environment variable. `default=None` means unset."""

    name: str
    kind: Kind
    default: Any
    help: str
    app: str = "synth"
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    is_secret: bool = False
    per_agent: bool = False

    def parse(self, raw: str) -> Any:
        """The typed value of `raw`; BadOption names the variable and what it allows."""
        text = raw.strip()
        if self.kind == "int":
            return self._integer(text)
        if self.kind == "bool":
            return self._boolean(text)
        if self.kind == "list":
            return [part.strip() for part in text.split(",") if part.strip()]
        if self.kind == "choice" and text.lower() not in self.choices:
            raise BadOption(f"{self.name}={text!r}: allowed are {', '.join(self.choices)}")
        return text.lower() if self.kind == "choice" else text

    def _integer(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise BadOption(f"{self.name}={text!r}: a whole number is needed") from None
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            raise BadOption(
                f"{self.name}={value}: allowed are {low} to {high if high is not None else 'any'}"
            )
        return value

    def _boolean(self, text: str) -> bool:
        lowered = text.lower()
        if lowered in TRUE:
            return True
        if lowered in FALSE:
            return False
        raise BadOption(f"{self.name}={text!r}: allowed are true or false (also 1/0, yes/no, on/off)")

    def read(self, environ: Mapping[str, str]) -> Any:
        """The value in `environ`, else the default; a blank variable counts as unset."""
        raw = environ.get(self.name, "")
        return self.default if raw.strip() == "" else self.parse(raw)


OPTIONS: dict[str, Option] = {}


def declare(*options: Option) -> None:
    """Add options to the table; a name declared twice is a programming error."""
    for option in options:
        if option.name in OPTIONS:
            raise ValueError(f"option {option.name} is declared twice")
        OPTIONS[option.name] = option


def read(name: str) -> Any:
    """The value of an option as the environment is now; BadOption for one that does not fit."""
    return OPTIONS[name].read(os.environ)


declare(
    Option("SYNTH_HOME", "text", "var", "Folder of the embedded stores, generated keys and demo logins."),
    Option("PORT", "int", 8000, "Port of the web process.", minimum=1, maximum=65535),
    Option("BIND", "text", "127.0.0.1", "Address the web process listens on."),
    Option("DATABASE_URL", "url", None, "PostgreSQL 15 or newer; unset: the embedded one.", is_secret=True),
    Option(
        "DB_KEPT_CONNECTIONS",
        "int",
        8,
        "Idle database connections a process keeps for 30 s; 0: none (behind a pooler such as PgBouncer).",
        minimum=0,
        maximum=1000,
    ),
    Option(
        "REDIS_URL",
        "url",
        None,
        "Redis or Valkey, by `redis://`, `rediss://` or `unix://`; unset: the embedded one.",
        is_secret=True,
    ),
    Option("SECRET_KEY", "text", None, "Signs sessions; generated on the embedded stack.", is_secret=True),
    Option(
        "GIFT_CODE_KEY", "text", None, "Keys the hashes of gift codes; generated likewise.", is_secret=True
    ),
    Option("FIELD_KEY", "text", None, "Encrypts stored secrets; generated likewise.", is_secret=True),
    Option(
        "ALLOWED_HOSTS", "list", ["localhost", "127.0.0.1", "[::1]"], "Host names the web process answers to."
    ),
    Option("CSRF_TRUSTED_ORIGINS", "list", [], "Origins (scheme and host) allowed to post forms."),
    Option(
        "BEHIND_TLS",
        "bool",
        False,
        "A proxy in front ends TLS: secure cookies, HSTS, redirect to https; limits, locked logins and log "
        "go by its `X-Forwarded-For`.",
    ),
    Option("DEBUG", "bool", False, "Django debug pages. Never on a machine others reach."),
    Option(
        "LOG_LEVEL", "choice", "info", "Least severe log line.", choices=("debug", "info", "warning", "error")
    ),
    Option(
        "LOG_FORMAT",
        "choice",
        "console",
        "Log lines for people or for machines.",
        choices=("console", "json"),
    ),
    Option("WEB_THREADS", "int", 8, "Threads for Django views in one web process.", minimum=1, maximum=256),
    Option(
        "LLM_BASE_URL",
        "url",
        None,
        "OpenAI-compatible host, or `local`; unset: no language model, the composer writes.",
    ),
    Option("LLM_API_KEY", "text", None, "Key of that host.", is_secret=True),
    Option("LLM_MODEL", "text", "default", "Model asked for where an agent names none."),
    Option(
        "LLM_LOCAL_MODEL",
        "text",
        None,
        "For `LLM_BASE_URL=local`: the instruct model of the torch worker, a folder or a `.gguf` file.",
    ),
    Option(
        "LLM_TIMEOUT_S",
        "int",
        120,
        "Deadline of one language model call; of a streamed one, the longest silence.",
        minimum=1,
        maximum=3600,
    ),
    Option(
        "LLM_MAX_TOKENS", "int", 4096, "Most completion tokens of one call.", minimum=16, maximum=1_000_000
    ),
    Option(
        "LLM_DAILY_TOKENS", "int", 200_000, "Tokens an agent may spend in a UTC day; 0: no cap.", minimum=0
    ),
    Option(
        "CHAT_HISTORY_CHARS",
        "int",
        48_000,
        "Newest characters of a dialogue in a chat prompt.",
        minimum=1_000,
        maximum=10_000_000,
    ),
    Option("CHAT_SLOTS", "int", 64, "Turns of chats that one worker runs at once.", minimum=1, maximum=1_000),
    Option(
        "CHAT_QUEUE",
        "int",
        100,
        "Answers that may wait for a worker; then new messages are refused.",
        minimum=1,
        maximum=100_000,
    ),
    Option(
        "CHAT_PER_PERSON",
        "int",
        8,
        "Answers that may be on their way for one person at once.",
        minimum=1,
        maximum=1_000,
    ),
    Option(
        "DIALOGUE_RETENTION_DAYS",
        "int",
        0,
        "Days after its last use after which a dialogue is deleted; 0: never. Scratch ones go after one.",
        minimum=0,
        maximum=36_500,
    ),
    Option(
        "CHAT_MAX_CALLS",
        "int",
        24,
        "Calls of the language model in one turn; at the last one it may not act.",
        minimum=2,
        maximum=1_000,
    ),
    Option("SYSTEM_ONE_HOST", "url", None, "System One host for judgments; unset: none."),
    Option("SYSTEM_ONE_KEY", "text", None, "Key of that host.", is_secret=True),
    Option("SYSTEM_ONE_MODEL", "text", "jev-latest", "Model asked for at that host."),
    Option(
        "MEMORY_ENTRY_WARN_TOKENS",
        "int",
        5000,
        "A memory that grows past this answers with a note; 0: never.",
        minimum=0,
    ),
    Option(
        "RECALL_MEANING",
        "bool",
        True,
        "Recall goes by what memories mean as well as by their words, where a torch worker runs.",
    ),
    Option("RATE_PER_KEY", "int", 600, "Requests a minute for one API key; 0: no limit.", minimum=0),
    Option(
        "RATE_PER_ADDRESS",
        "int",
        120,
        "Unauthenticated requests a minute from one address; 0: no limit.",
        minimum=0,
    ),
    Option("MAX_BODY_KIB", "int", 2048, "Largest request body.", minimum=16, maximum=1_048_576),
)
