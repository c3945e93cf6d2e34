"""Which session a judgment is asked in: bound around the work that asks, read where a run is saved.

A session is `dialogue:<id>`, `cycle:<id>`, `decision:<id>` or `api:<key>`. Without one nothing is asked.
While a model's answer streams, asking raises: it would hold up the stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KINDS = ("dialogue", "cycle", "decision", "api")
_FORM = re.compile(rf"(?:{'|'.join(KINDS)}):\S{{1,150}}")
_session: ContextVar[str | None] = ContextVar("judgments_session", default=None)
_streaming: ContextVar[bool] = ContextVar("judgments_streaming", default=False)


class InStreamHandler(RuntimeError):
    """A judgment was asked while a model's answer streams."""


def check(session: str) -> str:
    """The session itself. ValueError when it has none of the four forms."""
    if not isinstance(session, str) or not _FORM.fullmatch(session):
        forms = ", ".join(f"{kind}:<id>" for kind in KINDS)
        raise ValueError(f"a session is one of {forms}, not {session!r}")
    return session


@contextmanager
def bind(session: str | None) -> Iterator[None]:
    """Bind a session for the block; None unbinds. It does not reach other threads."""
    token = _session.set(None if session is None else check(session))
    try:
        yield
    finally:
        _session.reset(token)


def current(given: str | None = None) -> str | None:
    """The session given, else the one bound, else None."""
    return _session.get() if given is None else check(given)


def kind_of(session: str) -> str:
    """`dialogue`, `cycle`, `decision` or `api`."""
    return session.partition(":")[0]


@contextmanager
def stream_handler() -> Iterator[None]:
    """Mark the block as the handler of a stream: asking inside raises InStreamHandler."""
    token = _streaming.set(True)
    try:
        yield
    finally:
        _streaming.reset(token)


def refuse_in_stream() -> None:
    """InStreamHandler inside `stream_handler`, else nothing."""
    if _streaming.get():
        raise InStreamHandler("a judgment may not be asked while a stream is being handled")
