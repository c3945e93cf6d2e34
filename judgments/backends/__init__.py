"""The only way to a System One host: one ask, one reply or one Failure, within one deadline.

`ask` picks the backend, keeps to the host's limits (asks at once, circuit breaker), retries where the
caller is in the background, and checks the reply hard. Never inside a transaction: it raises there, and
gives the database connection back before it waits.
"""

from __future__ import annotations

import importlib
import random
import threading
import time
from dataclasses import replace
from typing import Any, cast

from judgments import strict_json
from judgments.answers import BadAnswer, read_reply, read_usage
from judgments.backends.breaker import hosts
from judgments.backends.types import WORDS, Backend, Failure, HostConfig, IsCancelled, Raw, Reply
from judgments.questions import Ask
from judgments.typed import Answer, renamed
from judgments.wire import parse_request
from judgments.wire_errors import WireError
from synth.net import database

__all__ = ["WORDS", "Failure", "HostConfig", "Reply", "ask"]

MAX_RETRIES = 2
_RETRIED = frozenset({"unreachable", "overloaded"})
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 8.0
_LOOK_S = 0.02  # how often a cancelled ask is noticed


def ask(
    host: HostConfig,
    ask: Ask,
    deadline_s: float,
    *,
    retries: int = 0,
    is_cancelled: IsCancelled | None = None,
) -> Reply:
    """The checked answers. Failure with one word of `WORDS`; InTransaction inside a transaction.

    `deadline_s` bounds everything: waiting for a free slot, the look-up, connecting, a dripping body,
    retries. `retries` (at most 2, background work only) are for connection trouble, 408, 429 and 5xx.
    `is_cancelled` is looked at all the while; a cancelled ask is left to end by itself at its deadline.
    """
    database.leave()
    started = time.monotonic()
    deadline = started + deadline_s
    sent = sendable(ask)
    if is_cancelled is not None and is_cancelled():
        raise Failure("cancelled")
    if is_cancelled is None:
        raw, n_tries = _tries(host, sent, deadline, retries, None)
    else:
        raw, n_tries = _watched(host, sent, deadline, retries, is_cancelled)
    try:
        typed = read_reply(sent, raw.body)
    except BadAnswer as error:
        raise Failure(error.word, error.text.replace(host.key, "[key]") if host.key else error.text) from None
    answers = {question.id: raw.body["answers"][question.id] for question in sent.questions}
    if sent is not ask:
        answers, typed = _as_asked(ask, sent, answers, typed)
    return Reply(
        answers=answers,
        typed=typed,
        served_model=str(raw.body["model"])[:200],
        usage=read_usage(raw.body),
        latency_ms=int((time.monotonic() - started) * 1000),
        request_id=raw.request_id,
        n_tries=n_tries,
    )


def sendable(ask: Ask) -> Ask:
    """The ask with everything that is not UTF-8 replaced; the reply is checked against what was sent.

    Failure when that makes one of two names.
    """
    try:
        whole = ask.as_wire()
        clean = strict_json.saveable(whole)
        if clean is whole:
            return ask
        sent = replace(parse_request(clean), judgment=ask.judgment)
    except (TypeError, ValueError, WireError):
        raise Failure("refused", "The ask is not JSON; nothing was sent.") from None
    if [len(q.options) for q in sent.questions] != [len(q.options) for q in ask.questions]:
        raise Failure("refused", "Two ids or options differ only in what is not UTF-8; nothing was sent.")
    return sent


def _as_asked(
    ask: Ask, sent: Ask, answers: dict[str, Any], typed: dict[str, Answer]
) -> tuple[dict[str, Any], dict[str, Answer]]:
    """The answers under the very names that were asked, where others were sent."""
    pairs = list(zip(sent.questions, ask.questions, strict=True))
    ids = {theirs.id: ours.id for theirs, ours in pairs}
    found = {ours.id: renamed(typed[theirs.id], ours) for theirs, ours in pairs}
    return {ids.get(key, key): value for key, value in answers.items()}, found


def _tries(
    host: HostConfig, ask: Ask, deadline: float, retries: int, stop: threading.Event | None
) -> tuple[Raw, int]:
    """Up to 1 + `retries` tries, as far as the deadline allows."""
    n_left = min(retries, MAX_RETRIES)
    wait_s = _FIRST_WAIT_S
    for n_tries in range(1, n_left + 2):
        try:
            return _once(host, ask, deadline), n_tries
        except Failure as failure:
            pause_s = wait_s * random.uniform(0.75, 1.0)  # noqa: S311 - spreads retries, nothing secret
            if failure.retry_after_s is not None:
                pause_s = failure.retry_after_s
            is_last = n_tries > n_left or failure.word not in _RETRIED
            if is_last or time.monotonic() + pause_s >= deadline or (stop is not None and stop.wait(pause_s)):
                raise
            if stop is None:
                time.sleep(pause_s)
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
    raise AssertionError("the last try returns or raises")


def _once(host: HostConfig, ask: Ask, deadline: float) -> Raw:
    backend = cast(Backend, importlib.import_module(f"judgments.backends.{host.backend}"))
    if host.backend != "http":
        return backend.send(host, ask, deadline)
    with hosts.slot(host, deadline):
        return backend.send(host, ask, deadline)


def _watched(
    host: HostConfig, ask: Ask, deadline: float, retries: int, is_cancelled: IsCancelled
) -> tuple[Raw, int]:
    """The tries in a thread of their own, so that a cancelled ask returns at once."""
    found: list[tuple[Raw, int]] = []
    trouble: list[BaseException] = []
    done, stop = threading.Event(), threading.Event()

    def work() -> None:
        try:
            found.append(_tries(host, ask, deadline, retries, stop))
        except BaseException as error:  # noqa: BLE001 - raised again in the asking thread
            trouble.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True, name="judgment").start()
    while not done.wait(_LOOK_S):
        if is_cancelled():
            stop.set()
            raise Failure("cancelled")
    if trouble:
        raise trouble[0]
    return found[0]
