"""Reads an interface path, `channel/target[/thread]`: which channel, to whom. Pure.

* `inbox/<username>[/thread]`: a person's deliveries
* `dialogue/<uuid>[/thread]`: a message in that dialogue
* `webhook/<https://…>`: the rest of the path is the address, slashes included
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from synth.errors import Invalid

FIELD = "interface_path"
CHANNELS = ("inbox", "dialogue", "webhook")
MAX_CHARS = 500
_URL = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Path:
    """A path taken apart; `str()` puts it together in its one spelling."""

    channel: str
    target: str
    thread: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.channel, self.target, self.thread) if part)


def parse(typed: object) -> Path:
    """The path. Invalid for `interface_path`: `unknown_channel`, `bad_target`, or no text at all."""
    text = typed.strip() if isinstance(typed, str) else ""
    if not text or len(text) > MAX_CHARS:
        raise _bad(f"A path like inbox/NAME is needed, at most {MAX_CHARS} characters.")
    channel, _, rest = text.partition("/")
    channel = channel.lower()
    if channel not in CHANNELS:
        message = f"{channel[:40]!r} is no channel; there are {', '.join(CHANNELS)}."
        raise Invalid(message, field=FIELD, code="unknown_channel")
    if channel == "webhook":
        return Path(channel, _url(rest))
    target, _, thread = rest.partition("/")
    target, thread = target.strip(), thread.strip("/ ")
    if not target:
        raise _bad(f"{channel}/ needs a target.")
    return Path(channel, _uuid(target) if channel == "dialogue" else target, thread)


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise _bad("dialogue/ needs the id of a dialogue.") from None


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise _bad(
            "webhook/ needs an address in ASCII without spaces, like webhook/https://host.example/hook."
        )
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise _bad("The address of the webhook is malformed.") from None
    if url.scheme.lower() not in ("http", "https") or not url.hostname or port == 0:
        raise _bad("A webhook lives at an https address with a host.")
    if url.username is not None or url.password is not None or "#" in text:
        raise _bad("A webhook's address has no login and no fragment; the signature proves who sends.")
    return text


def _bad(message: str) -> Invalid:
    return Invalid(message, field=FIELD, code="bad_target")
