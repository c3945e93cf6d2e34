"""Answers other people's asks: who may, whom it asks, what is saved, and what goes wrong in the wire's words.

Clients are answered by the torch worker of this install. SYSTEM_ONE_HOST is for our own asks only; an
operator who wants to pass clients on to another host says so with SYSTEM_ONE_SERVED_BY.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.timezone import now

from judgments import backends, options, wire, wire_errors
from judgments.backends import Failure, HostConfig, Reply
from judgments.models import JudgmentSetting, Origin
from judgments.questions import Ask
from judgments.services import model_list, runs, settings
from judgments.wire import ModelInfo
from synth.net import database

if TYPE_CHECKING:
    from synth.models import ApiKey

LATEST = "jev-latest"
NAMES = {"systemone": "served.systemone", "openai-decisions": "served.decisions"}
# Connections are few in a database, threads are many here.
_database = threading.BoundedSemaphore(8)
_count_lock = threading.Lock()
_at_work = {"n": 0}


@dataclass(frozen=True)
class Served:
    """What a client gets: the reply, and the id of its run or None."""

    reply: Reply
    run_id: str | None


@contextmanager
def with_database() -> Iterator[None]:
    """A short look into the database; its connection is given back at the end."""
    with _database:
        yield
        database.leave()


def models() -> list[ModelInfo]:
    """What clients may ask for by name: the default, and the readers of our own worker where it answers."""
    latest = ModelInfo(LATEST, "The readers of this server, picked by question.", model_list.FIRST_RELEASE)
    return [latest] if is_passed_on() else [latest, *model_list.readers()]


def check_model(name: str) -> None:
    """WireError 400 for a model that is not here; a host further on knows its own."""
    if not is_passed_on() and name != LATEST and not model_list.is_known(name):
        raise wire_errors.unknown_model(name)


def is_passed_on() -> bool:
    """Whether another host answers clients."""
    return host_of(LATEST).backend == "http"


def host_of(model: str) -> HostConfig:
    """Who answers clients. The host of the environment is asked as our own asks are, with its key."""
    address = str(options.read(options.SERVED_BY))
    is_ours = address == (options.read("SYSTEM_ONE_HOST") or "")
    ours = settings.host_for(JudgmentSetting(host=address)) if is_ours else None
    return replace(ours or HostConfig(address), model=model, max_at_once=options.read(options.SERVE_AT_ONCE))


def answer(ask: Ask, *, key: ApiKey) -> Served:
    """Ask the reader and save the run. WireError for everything else than an answer."""
    host = host_of(ask.model)
    draft = runs.Draft(
        judgment=NAMES[ask.dialect], questions=ask.questions, state=ask.state, mode="on", at=now(),
        origin=Origin.SERVED, session_id=f"api:{key.prefix}", api_key_id=key.pk, host=host.label,
        model=ask.model,
    )  # fmt: skip
    with _slot():
        found = _ask(host, replace(ask, judgment=draft.judgment))
    _note(draft, found)
    with with_database():
        run_id = runs.save(draft)
    if isinstance(found, Failure):
        raise _as_wire_error(found)
    return Served(found, run_id)


def body(ask: Ask, served: Served) -> dict[str, Any]:
    """The 200 answer in the ask's dialect; what a reader adds about an answer stays with it as `x_*`."""
    reply = served.reply
    extras = {
        key: {name: value for name, value in raw.items() if name.startswith("x_")}
        for key, raw in reply.answers.items()
        if isinstance(raw, dict)
    }
    top = {"run_id": served.run_id} if served.run_id else None
    return wire.response(
        ask, reply.typed, model=reply.served_model, usage=reply.usage, extras=extras, top=top
    )


def _ask(host: HostConfig, ask: Ask) -> Reply | Failure:
    try:
        return backends.ask(host, ask, options.read(options.SERVE_TIMEOUT_MS) / 1000)
    except Failure as failure:
        return failure


def _note(draft: runs.Draft, found: Reply | Failure) -> None:
    draft.latency_ms = (now() - draft.at).total_seconds() * 1000
    if isinstance(found, Failure):
        draft.failure, draft.failure_text = found.word, found.text
    else:
        draft.answers, draft.usage = found.answers, dict(found.usage)
        draft.served_model = found.served_model


@contextmanager
def _slot() -> Iterator[None]:
    """One of the asks that may be at work in this process; 529 when there are too many."""
    with _count_lock:
        if _at_work["n"] >= options.read(options.SERVE_AT_ONCE):
            raise wire_errors.overloaded()
        _at_work["n"] += 1
    try:
        yield
    finally:
        with _count_lock:
            _at_work["n"] -= 1


def _as_wire_error(failure: Failure) -> wire_errors.WireError:
    """Never a 5xx for what the client did: those are tried again."""
    wait_s = max(1, round(failure.retry_after_s or 0))
    if failure.word == "overloaded":
        return wire_errors.overloaded(wait_s)
    if failure.word == "refused":
        if failure.status == 413:
            return wire_errors.failed(413, "request_too_large", failure.text)
        kind = "max_tokens_exceeded" if "token" in failure.text.lower() else "api_usage_error"
        return wire_errors.failed(400, kind, failure.text or "The reader refused the request.")
    if failure.word == "timeout":
        return wire_errors.unavailable("No answer came in time.", max(2, wait_s))
    if failure.word == "unreachable":
        return wire_errors.unavailable(failure.text or "No torch worker runs.", max(5, wait_s))
    return wire_errors.unavailable("The reader's answer could not be used.", max(5, wait_s))
