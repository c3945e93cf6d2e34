"""What every backend takes and gives: a host, an ask, a reply, or one word for why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from judgments.questions import Ask
from judgments.typed import Answer

# Every word an ask can fail with.
WORDS = {
    "unreachable": "No connection, or one that was reset.",
    "timeout": "Our deadline passed.",
    "refused": "The host refused the request (4xx).",
    "overloaded": "The host is busy or failing (408, 429, 5xx).",
    "bad_answer": "A redirect, not JSON, cut, or not what was asked.",
    "cancelled": "Whoever asked no longer wants to know.",
}
MAX_TEXT_CHARS = 200


class Failure(Exception):
    """An ask without an answer: `word` is one of `WORDS`, `text` adds up to 200 characters, never a key.

    `status` is the host's HTTP status and `retry_after_s` what it asked for, where there were any.
    """

    def __init__(
        self, word: str, text: str = "", *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        if word not in WORDS:
            raise ValueError(f"no such failure: {word}")
        super().__init__(f"{word}: {text}" if text else word)
        self.word = word
        self.text = text[:MAX_TEXT_CHARS]
        self.status = status
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class HostConfig:
    """Where to ask. `base_url` is `http(s)://host[:port][/path]`, `local` or `scripted[:FILE]`.

    `path` is added to the base URL; empty means the dialect's own (`/v1/systemone`, `/v1/decisions`). The
    key is sent as `auth_header: auth_scheme key`, the scheme left out where it is empty. `local_only`
    refuses a host that isn't on this machine or network. `max_at_once` asks run at a time in this process;
    the others wait. Choices are asked in `n_orders` option orders and averaged (not of readers of our own, to
    which the order means nothing).
    """

    base_url: str
    model: str = "jev-latest"
    key: str = field(default="", repr=False)
    dialect: str = "systemone"
    path: str = ""
    auth_header: str = "Authorization"
    auth_scheme: str = "Bearer"
    local_only: bool = False
    max_at_once: int = 8
    n_orders: int = 1

    @property
    def backend(self) -> str:
        """`local`, `scripted` or `http`."""
        name = self.base_url.partition(":")[0]
        return name if name in ("local", "scripted") else "http"

    @property
    def label(self) -> str:
        """`host:port` (or the backend's name) for records and logs; user names and passwords left out."""
        if self.backend != "http":
            return self.backend
        try:
            return urlsplit(self.base_url).netloc.rpartition("@")[2][:MAX_TEXT_CHARS]
        except ValueError:
            return "not an address"


@dataclass(frozen=True)
class Reply:
    """Checked answers. `answers` is the host's object as it came, `typed` what it means by question id."""

    answers: dict[str, Any]
    typed: dict[str, Answer]
    served_model: str
    usage: dict[str, int]
    latency_ms: int
    request_id: str = ""
    n_tries: int = 1


IsCancelled = Callable[[], bool]


@dataclass(frozen=True)
class Raw:
    """One host's reply before its checks: `body` in the System One shape."""

    body: Mapping[str, Any]
    request_id: str = ""


class Backend(Protocol):
    """A module that can ask one kind of host. `deadline` is a `time.monotonic()` value in seconds."""

    def send(self, host: HostConfig, ask: Ask, deadline: float) -> Raw:
        """One try within the deadline. Failure when it brings nothing."""
        ...
