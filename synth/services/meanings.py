"""Asks the torch worker what texts mean, within a budget; without an answer recall goes by words alone.

A turn begins its ask before its openers run and takes the answer when the prompt needs it. No connection is
held while somebody waits. After an ask that came to nothing none is made for a few seconds, so that a worker
that is away, busy or still loading its model costs at most one budget in that time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import redis
import structlog
from django.conf import settings

from synth import liveness
from synth.inference import queue
from synth.net import database
from synth.recall.meaning import Meaning, read

KIND = "embed"
QUESTION_CHARS = 600
WAIT_S = 0.15  # while a person waits
PATIENT_S = 15.0  # while nobody does; loading the model is within it
ASK_S = 10.0  # an ask of a turn is worth nothing after its openers took this long
QUIET_S = 5.0
MODEL_KEY = "synth:meaning:model"
Side = Literal["query", "passage"]
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Begun:
    """An ask under way: the text, the ask's id (blank: none was made), when it was made."""

    text: str
    ask_id: str
    at: float


_begun: ContextVar[_Begun | None] = ContextVar("synth_meaning_begun", default=None)
_quiet_until = 0.0
_seen = ""


def is_on() -> bool:
    """Whether recall may go by meaning here; a worker is needed besides."""
    return bool(settings.RECALL_MEANING)


def begin(text: str) -> None:
    """Ask what a text means and go on; `of` in the same thread has the answer. Never raises."""
    _begun.set(_ask(text))


def of(text: str, wait_s: float | None = None) -> Meaning | None:
    """What a text means; None without an answer within `wait_s` (`WAIT_S`) from now. Never raises.

    Gives the thread's database connection back while it waits; None inside a transaction.
    """
    wait_s = WAIT_S if wait_s is None else wait_s
    begun = _begun.get()
    _begun.set(None)
    try:
        if begun is None or begun.text != _cut(text):
            database.check()
            begun = _ask(text, time.time() + wait_s)
        if not begun.ask_id:
            return None
        database.leave()
    except database.InTransaction:
        return None
    outcome, found = "used", None
    try:
        (found,) = _read(queue.wait(begun.ask_id, time.time() + wait_s), 1)
    except queue.NoAnswer as error:
        outcome = _none(error)
    except ValueError as error:
        outcome = _quiet(f"bad_answer: {error}")
    log.info("recall_by_meaning", outcome=outcome, ms=round((time.time() - begun.at) * 1000, 1))
    return found


def passages(texts: Sequence[str], deadline: float) -> list[Meaning]:
    """What memories mean, when nothing else waits. `deadline` in epoch seconds. No connection is held.

    `queue.NoAnswer`'s subclasses say why there is no answer; ValueError for a worker that answers nonsense.
    """
    database.leave()
    payload = {"texts": list(texts), "side": "passage"}
    return _read(queue.ask(KIND, payload, deadline=deadline, priority="NICE"), len(texts))


def model_seen() -> str:
    """The model that answered last, in any process; blank where nobody knows."""
    try:
        return str(liveness.client().get(MODEL_KEY) or "")
    except redis.RedisError:
        return ""


def _read(answer: dict[str, Any], n: int) -> list[Meaning]:
    """The answer's vectors. Their model is noted, so that those of another are made anew."""
    global _seen
    found = read(answer, n)
    if found and found[0].model != _seen:
        with contextlib.suppress(redis.RedisError):
            liveness.client().set(MODEL_KEY, found[0].model)
            _seen = found[0].model
    return found


def _ask(text: str, deadline: float | None = None) -> _Begun:
    cut, at = _cut(text), time.time()
    if not is_on() or not cut or time.monotonic() < _quiet_until:
        return _Begun(cut, "", at)
    try:
        payload = {"texts": [cut], "side": "query"}
        return _Begun(cut, queue.begin(KIND, payload, deadline=deadline or at + ASK_S), at)
    except queue.NoAnswer as error:
        _none(error)
        return _Begun(cut, "", at)


def _none(error: queue.NoAnswer) -> str:
    """Note that an ask came to nothing; where merely no worker runs, the next ask may find one at no cost."""
    return error.reason if error.reason == queue.NO_WORKER else _quiet(error.reason)


def _quiet(reason: str) -> str:
    global _quiet_until
    _quiet_until = time.monotonic() + QUIET_S
    return reason


def _cut(text: str) -> str:
    return " ".join(text[:QUESTION_CHARS].split())
