"""`ask` gets an answer from the torch worker, or raises within the deadline: no worker, full, late, refused.

Two round trips to Redis: one script that looks at the worker's sign of life and at how many of its priority
wait before it adds the ask, and one blocking read of the reply.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import redis

from synth.inference.wire import (
    ALIVE_KEY,
    BOUND,
    Problem,
    cancel_key,
    envelope,
    living_key,
    queue_key,
    read_reply,
    reply_key,
    taken_key,
)
from synth.net import clients

LOOK_S = 1.0
CANCEL_LOOK_S = 0.05
CANCEL_S = 60
NO_WORKER = "no_torch_worker"

# KEYS: sign of life, the ask's queue. ARGV: the ask, the bound.
_ADD = """
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then return -2 end
return redis.call('RPUSH', KEYS[2], ARGV[1])
"""


class NoAnswer(Exception):
    """An ask that ended without an answer; `reason` is a stable word."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(text or reason)
        self.reason = reason
        self.text = text


class NoWorker(NoAnswer):
    """No worker runs, Redis is away, or the worker died with the ask (503)."""


class Overloaded(NoAnswer):
    """Too many asks wait already (529)."""

    retry_after_s = 1


class Late(NoAnswer):
    """The deadline passed while the ask waited or ran."""


class Cancelled(NoAnswer):
    """The asker no longer wants the answer."""


class Rejected(NoAnswer):
    """The worker read the ask and cannot answer it; `problem` has the numbers."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code, problem.text)
        self.problem = problem


def _client(url: str) -> redis.Redis:
    # A blocking read may last as long as the deadline: the client's own timeout would end it early. Bytes
    # that are no text are somebody else's: what was taken together with them is answered all the same.
    return redis.Redis.from_url(
        url, decode_responses=True, encoding_errors="replace", socket_timeout=None, socket_connect_timeout=2
    )


def client() -> redis.Redis:
    """A Redis client for blocking reads, shared by the threads of this process."""
    return clients.shared("inference", _client)


def is_served() -> bool:
    """Whether a worker signs. False also when Redis is away."""
    try:
        return bool(client().exists(ALIVE_KEY))
    except redis.RedisError:
        return False


def ask(
    kind: str,
    payload: dict[str, Any],
    *,
    deadline: float,
    priority: str = "IMPORTANT",
    is_cancelled: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """The worker's answer. `deadline` is in epoch seconds. NoAnswer's subclasses say why there is none."""
    return wait(begin(kind, payload, deadline=deadline, priority=priority), deadline, is_cancelled)


def begin(kind: str, payload: dict[str, Any], *, deadline: float, priority: str = "IMPORTANT") -> str:
    """Queue an ask and go on; its id, which `wait` takes. NoAnswer's subclasses as for `ask`."""
    ask_id = uuid4().hex
    try:
        _add(envelope(ask_id, kind, payload, deadline).dumps(), priority)
    except redis.RedisError as error:
        raise NoWorker("redis_down", str(error)[:200]) from None
    return ask_id


def wait(
    ask_id: str,
    deadline: float,
    is_cancelled: Callable[[], bool] | None = None,
    say: Callable[[str], None] | None = None,
    idle_s: float | None = None,
) -> dict[str, Any]:
    """The answer to an ask that was begun; one that is not there by `deadline` is cancelled.

    `say` gets the words of a streamed kind as they come; a silence longer than `idle_s` ends the ask too.
    """
    try:
        return _wait(ask_id, deadline, is_cancelled, say, idle_s)
    except redis.RedisError as error:
        raise NoWorker("redis_down", str(error)[:200]) from None


def cancel(ask_id: str) -> None:
    """Nobody wants the answer: the worker drops the ask if it hasn't begun, or within a step of a stream."""
    client().set(cancel_key(ask_id), 1, ex=CANCEL_S)


def _add(raw: str, priority: str) -> None:
    found = int(client().eval(_ADD, 2, ALIVE_KEY, queue_key(priority), raw, BOUND))
    if found == -1:
        raise NoWorker(NO_WORKER, "No torch worker runs.")
    if found == -2:
        raise Overloaded("queue_full", f"{BOUND} such asks wait already.")


def _wait(
    ask_id: str,
    deadline: float,
    is_cancelled: Callable[[], bool] | None,
    say: Callable[[str], None] | None,
    idle_s: float | None,
) -> dict[str, Any]:
    key = reply_key(ask_id)
    look_s = CANCEL_LOOK_S if is_cancelled else LOOK_S
    looked_at = time.time()
    until = min(deadline, looked_at + (idle_s or math.inf))
    while (left_s := until - time.time()) > 0:
        found = client().blpop([key], timeout=max(0.01, min(look_s, left_s)))
        if found is not None:
            answer = read_reply(str(found[1]))
            if isinstance(answer, Problem):
                raise _said(answer)
            if not isinstance(answer, str):
                return answer
            if say is not None:
                say(answer)
            until = min(deadline, time.time() + (idle_s or math.inf))
        if is_cancelled is not None and is_cancelled():
            cancel(ask_id)
            raise Cancelled("cancelled")
        if time.time() - looked_at >= LOOK_S:
            looked_at = time.time()
            if _is_lost(ask_id):
                cancel(ask_id)
                raise NoWorker(NO_WORKER, "The torch worker stopped.")
    cancel(ask_id)
    if _is_lost(ask_id):
        raise NoWorker(NO_WORKER, "The torch worker stopped.")
    raise Late("late", "The deadline passed.")


def _is_lost(ask_id: str) -> bool:
    """Whether the worker that took the ask is gone, another in its place or not; or nobody will take it."""
    name = client().get(taken_key(ask_id))
    return not client().exists(ALIVE_KEY if name is None else living_key(str(name)))


def _said(problem: Problem) -> NoAnswer:
    if problem.code == "late":
        return Late("late", problem.text)
    if problem.code in (NO_WORKER, "no_such_kind", "not_installed", "no_memory"):
        return NoWorker(problem.code, problem.text)
    return Rejected(problem)
