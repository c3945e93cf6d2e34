"""The serving loop of the torch worker: what queued while the models were busy is the next batch.

Asks are taken by priority, late and cancelled ones dropped, identical ones computed once, the rest sorted by
length and cut by a budget of tokens; before each later batch late and cancelled ones are dropped again, and a
batch nobody waits for any more ends at its next step. A batch that fails is tried one by one, so that one bad
ask fails alone.
NICE asks are taken only after a while without others, a few at a time, and wait again when others come.
A streamed ask is answered in steps; between two of them a batch of each other priority but NICE has its turn.
The loop imports no torch; models come from the runners it is given.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any
from uuid import uuid4

import redis
import structlog

from synth.inference import queue
from synth.inference.residents import Residents
from synth.inference.runners import Answer, Runner
from synth.inference.telling import Telling
from synth.inference.wanted import Unwanted, looking
from synth.inference.wire import (
    ALIVE_KEY,
    ALIVE_S,
    PRIORITIES,
    REPLY_S,
    STREAMED,
    Envelope,
    Problem,
    cancel_key,
    living_key,
    queue_key,
    read_envelope,
    reply,
    reply_key,
    taken_key,
)

MAX_ITEMS = {"CHAT": 1, "IMPORTANT": 64, "NICE": 4}  # taken at a time
BATCH_TOKENS = 16_384
KEPT_S, KEPT = 5.0, 256
SIGN_EVERY_S = 1.0
IDLE_S = 1.0
NICE_AFTER_S = 0.1  # without an ask that matters more
MATTERING = [name for name in PRIORITIES if name != "NICE"]
URGENT = [queue_key(name) for name in MATTERING]
log = structlog.get_logger(__name__)


class Serving:
    """Serves until `stop` is set. `runners` by kind; each is loaded when first needed."""

    def __init__(
        self,
        runners: Mapping[str, Callable[[], Runner]] | Residents,
        stop: threading.Event | None = None,
    ) -> None:
        self.stop = stop or threading.Event()
        self.residents = runners if isinstance(runners, Residents) else Residents(runners)
        self._urgent_at = 0.0
        self._kept: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._under_way: set[str] = set()  # priorities
        self._name = uuid4().hex
        self._quit = threading.Event()

    def serve(self) -> None:
        """Sign, then answer asks until told to stop. An idle install keeps no model in memory."""
        signing = threading.Thread(target=self._sign, name="infer-alive", daemon=True)
        signing.start()
        try:
            while not self.stop.is_set():
                try:
                    self.turn()
                except redis.RedisError as error:
                    log.warning("inference_redis", error=str(error))
                    self.stop.wait(IDLE_S)
                except Exception:  # noqa: BLE001 - what one take held must not end all others
                    log.exception("inference_turn_broke")
                    self.stop.wait(NICE_AFTER_S)
        finally:
            self._quit.set()
            signing.join(timeout=5)
            self._leave()

    def turn(self) -> int:
        """Wait up to a second for asks and answer one batch; how many were taken."""
        priority, taken = self._take()
        if taken:
            self._answer(taken, priority)
        else:
            self.residents.unload_idle()
        if priority != "NICE" and taken:
            self._urgent_at = time.monotonic()
        return len(taken)

    def _take(self) -> tuple[str, list[Envelope]]:
        first = None
        if time.monotonic() - self._urgent_at < NICE_AFTER_S:
            first = queue.client().blpop(URGENT, timeout=NICE_AFTER_S)
        first = first or queue.client().blpop([*URGENT, queue_key("NICE")], timeout=IDLE_S)
        if first is None:
            return "", []
        key, raw = first
        priority = next(name for name in PRIORITIES if queue_key(name) == key)
        # NICE asks go in small batches, so that what matters more never waits long.
        return priority, [*_read([raw]), *self._more(priority, MAX_ITEMS[priority] - 1)]

    def _more(self, priority: str, limit: int) -> list[Envelope]:
        """Asks of a priority that wait now."""
        return _read(queue.client().lpop(queue_key(priority), limit) or []) if limit else []

    def _answer(self, taken: Sequence[Envelope], priority: str) -> None:
        self._under_way.add(priority)
        try:
            self._answer_each(taken, priority)
        finally:
            self._under_way.discard(priority)

    def _answer_each(self, taken: Sequence[Envelope], priority: str) -> None:
        wanted = self._wanted(taken)
        self._put_name_on(wanted)
        by_digest: dict[str, list[Envelope]] = {}
        for one in wanted:
            by_digest.setdefault(one.digest, []).append(one)
        fresh: dict[str, list[Envelope]] = {}
        for digest, same in by_digest.items():
            if (known := self._known(digest)) is not None:
                self._send(same, known)
            else:
                fresh.setdefault(same[0].kind, []).append(same[0])
        kinds = sorted(fresh, key=STREAMED.__contains__)  # what streams goes last: it may take long
        work = [(kind, batch) for kind in kinds for batch in batches(fresh[kind], kind)]
        for n, (kind, batch) in enumerate(work):
            if n and priority == "NICE" and self._is_urgent():
                self._put_back(
                    [same for _, rest in work[n:] for one in rest for same in by_digest[one.digest]]
                )
                return
            if n:  # the batches before may have taken longer than these asks have
                batch = self._still_wanted(batch, by_digest)
            if not batch:
                continue
            for one, answer in zip(batch, self._run(kind, batch, priority, by_digest), strict=True):
                if kind not in STREAMED:
                    self._keep(one.digest, answer)
                self._send(by_digest[one.digest], answer)

    def _is_urgent(self) -> bool:
        """Whether an ask waits that matters more than a NICE one."""
        return any(queue.client().llen(key) for key in URGENT)

    def _put_back(self, asks: Sequence[Envelope]) -> None:
        """NICE asks to the front of their list, in the order they had."""
        queue.client().delete(*[taken_key(one.id) for one in asks])
        queue.client().lpush(queue_key("NICE"), *[one.dumps() for one in reversed(asks)])

    def _put_name_on(self, asks: Sequence[Envelope]) -> None:
        """So that whoever waits for one of them knows when this worker is gone."""
        if not asks:
            return
        with queue.client().pipeline(transaction=False) as pipe:
            pipe.set(living_key(self._name), self._name, ex=ALIVE_S)
            for one in asks:
                left_s = max(0, math.ceil(one.deadline - time.time()))
                pipe.set(taken_key(one.id), self._name, ex=left_s + 1)
            pipe.execute()

    def _wanted(self, taken: Sequence[Envelope]) -> list[Envelope]:
        """Asks somebody still waits for."""
        now = time.time()
        cancelled = queue.client().mget([cancel_key(one.id) for one in taken])
        return [
            one for one, gone in zip(taken, cancelled, strict=True) if gone is None and one.deadline > now
        ]

    def _still_wanted(
        self, batch: Sequence[Envelope], by_digest: Mapping[str, Sequence[Envelope]]
    ) -> list[Envelope]:
        """Those of a batch that somebody still waits for, be it another who asked the same."""
        wanted = self._wanted([same for one in batch for same in by_digest[one.digest]])
        digests = {one.digest for one in wanted}
        return [one for one in batch if one.digest in digests]

    def _is_any_wanted(self, asks: Sequence[Envelope]) -> bool:
        try:
            return bool(self._wanted(asks))
        except redis.RedisError:
            return any(one.deadline > time.time() for one in asks)

    def _run(
        self,
        kind: str,
        batch: Sequence[Envelope],
        priority: str,
        by_digest: Mapping[str, Sequence[Envelope]],
    ) -> list[Answer]:
        runner = self.residents.get(kind, priority)
        if isinstance(runner, Problem):
            return [runner] * len(batch)
        try:
            if kind in STREAMED:
                return [self._stream(runner, kind, batch[0])]
            asks = [same for one in batch for same in by_digest[one.digest]]
            with looking(lambda: self._is_any_wanted(asks)):
                return _checked(runner, batch)
        except Unwanted:
            return [Problem("late", "Nobody waits for it any more.")] * len(batch)
        except Exception:  # noqa: BLE001 - whatever a model raises must end one ask, not the worker
            if len(batch) > 1:
                return [answer for one in batch for answer in self._run(kind, [one], priority, by_digest)]
            log.exception("inference_failed", kind=kind, ask=batch[0].id)
            return [Problem("failed", "The reader failed on this ask.")]
        finally:
            self.residents.used(kind, priority)

    def _stream(self, runner: Any, kind: str, ask: Envelope) -> Answer:
        """Answer step by step. What was asked meanwhile and waits in no line under way goes in between."""
        telling = Telling(ask)
        with self.residents.held(kind), closing(runner.stream(ask.payload)) as steps:
            while not self.stop.is_set():
                try:
                    telling.say(next(steps))
                except StopIteration as end:
                    answer: Answer = end.value
                    return answer
                if telling.is_due():
                    if (ended := telling.ended()) is not None:
                        return ended
                    self._let_through()
        return Problem(queue.NO_WORKER, "The torch worker stops.")

    def _let_through(self) -> None:
        for priority in MATTERING:
            if priority not in self._under_way and (taken := self._more(priority, MAX_ITEMS[priority])):
                self._answer(taken, priority)

    def _known(self, digest: str) -> Answer | None:
        found = self._kept.get(digest)
        return found[1] if found is not None and time.monotonic() - found[0] < KEPT_S else None

    def _keep(self, digest: str, answer: Answer) -> None:
        """Answers of the last seconds serve those who asked the same meanwhile; problems are not kept."""
        if isinstance(answer, Problem):
            return
        self._kept[digest] = (time.monotonic(), answer)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _send(self, asks: Sequence[Envelope], answer: Answer) -> None:
        raw = reply(answer)
        with queue.client().pipeline(transaction=False) as pipe:
            for one in asks:
                pipe.rpush(reply_key(one.id), raw)
                pipe.expire(reply_key(one.id), REPLY_S)
            pipe.execute()

    def _sign(self) -> None:
        while not self._quit.is_set():
            try:
                with queue.client().pipeline(transaction=False) as pipe:
                    for key in (ALIVE_KEY, living_key(self._name)):
                        pipe.set(key, self._name, ex=ALIVE_S)
                    pipe.execute()
            except redis.RedisError as error:
                log.warning("inference_not_signed", error=str(error))
            self._quit.wait(SIGN_EVERY_S)

    def _leave(self) -> None:
        """Take the sign down, unless another worker has put up its own."""
        try:
            queue.client().delete(living_key(self._name))
            if queue.client().get(ALIVE_KEY) == self._name:
                queue.client().delete(ALIVE_KEY)
        except redis.RedisError as error:
            log.warning("inference_not_left", error=str(error))


def _read(raws: Any) -> list[Envelope]:
    return [found for found in map(read_envelope, raws) if found is not None]


def batches(asks: Sequence[Envelope], kind: str = "", budget: int = BATCH_TOKENS) -> list[list[Envelope]]:
    """The asks by length, cut where the padded size passes the budget; an ask over it goes alone.

    Of a streamed kind each goes alone, in the order they came.
    """
    if kind in STREAMED:
        return [[one] for one in asks]
    found: list[list[Envelope]] = []
    for one in sorted(asks, key=lambda ask: ask.size):
        if found and (len(found[-1]) + 1) * one.size <= budget:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _checked(runner: Runner, batch: Sequence[Envelope]) -> list[Answer]:
    answers = runner.run([one.payload for one in batch])
    if len(answers) != len(batch):
        raise RuntimeError(f"{len(answers)} answers to {len(batch)} asks")
    return answers


def serve(runners: Mapping[str, Callable[[], Runner]], stop: threading.Event | None = None) -> None:
    """Serve until `stop` is set."""
    Serving(runners, stop).serve()
