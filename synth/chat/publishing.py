"""Tells the viewers of an answer what happens to it, and never holds up or breaks the turn that tells.

One thread of the process sends everything: what piled up while it was sending goes in one round trip.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog

from synth import liveness
from synth.chat import events
from synth.chat.events import Event

COALESCE_S = 0.02  # words that come faster are told together
FLUSH_S = 1.0  # the longest an answer's end waits for its last event to be out
log = structlog.get_logger(__name__)


class Publisher:
    """The voice of one answer. `n` is the number of its last event.

    `n=None` looks in Redis for the last one told, for a process that takes up what another began. Trouble
    with Redis is logged once and passes over: viewers then read the rows.
    """

    def __init__(self, answer_id: int, n: int | None = 0) -> None:
        self.answer_id = answer_id
        self._lock = threading.Lock()
        self._words: list[str] = []
        self._is_reminded = False
        self._last_at = 0.0
        self.n = _last_n(answer_id) if n is None else n

    def start(self, *, dialogue: str, parent: int | None, agent: str, at: datetime) -> None:
        """The answer has begun."""
        self.tell(
            events.START, dialogue=dialogue, parent=parent, agent=agent, role="assistant", at=at.isoformat()
        )

    def delta(self, text: str) -> None:
        """More words for the person; the first at once, later ones at most every 20 ms."""
        if not text:
            return
        with self._lock:
            self._words.append(text)
            wait_s = self._last_at + COALESCE_S - time.monotonic()
            if wait_s <= 0:
                self._say()
            elif not self._is_reminded:
                self._is_reminded = True
                courier().remind(time.monotonic() + wait_s, self)

    def action(
        self, *, id: int | None, action: str, call_id: str, status: str, is_ok: bool | None = None,
        code: str = "", text: str = "",
    ) -> None:  # fmt: skip
        """An action is `running`, `done` or `refused`; `id` is its result line, once there is one."""
        self.tell(
            events.ACTION, id=id, action=action, call_id=call_id, status=status, is_ok=is_ok, code=code,
            text=text,
        )  # fmt: skip

    def approval(self, approval: Mapping[str, Any]) -> None:
        """A person is asked for an approval, or has decided."""
        self.tell(events.APPROVAL, type="tool-approval-request", approval=dict(approval))

    def check_in(self, *, n_calls: int, elapsed_s: float, mode: str, choices: Sequence[str]) -> None:
        """A long turn asks whether to go on."""
        self.tell(
            events.CHECK_IN, n_calls=n_calls, elapsed_s=round(elapsed_s, 1), mode=mode, choices=list(choices)
        )

    def end(
        self,
        *,
        message: Mapping[str, Any],
        actions: Sequence[Mapping[str, Any]],
        usage: Mapping[str, int],
        finish_reason: str,
        tool_calls: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """The answer is saved; nothing follows. Waits up to a second until that is told."""
        more = {"tool_calls": list(tool_calls)} if tool_calls else {}
        self.tell(
            events.END, message=dict(message), actions=list(actions), usage=dict(usage),
            finish_reason=finish_reason, **more,
        )  # fmt: skip
        courier().flush()

    def error(self, code: str, message: str, retry_after_s: int | None = None) -> None:
        """The answer failed; nothing follows. Waits up to a second until that is told."""
        more = {} if retry_after_s is None else {"retry_after_s": retry_after_s}
        self._tell(events.ERROR, {"code": code, "message": message, "message_id": self.answer_id, **more})
        courier().flush()

    def tell(self, event: str, **data: Any) -> None:
        """Any event; words that wait go out before it."""
        self._tell(event, {"message_id": self.answer_id, **data})

    def say_now(self) -> None:
        """Tell the words that wait."""
        with self._lock:
            self._is_reminded = False
            self._say()

    def _tell(self, event: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            self._say()
            self._post(event, data)

    def _say(self) -> None:
        if self._words:
            text, self._words = "".join(self._words), []
            self._last_at = time.monotonic()
            self._post(events.DELTA, {"message_id": self.answer_id, "text": text})

    def _post(self, event: str, data: Mapping[str, Any]) -> None:
        self.n += 1
        courier().post(self.answer_id, Event(self.n, event, events.encode(data)))


class _Courier:
    """Sends what publishers post, in order, and reminds them of words that wait."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._out: list[tuple[int, Event]] = []
        self._due: list[tuple[float, int, Publisher]] = []
        self._order = itertools.count()
        self._n_posted = 0
        self._n_sent = 0
        self._is_in_trouble = False
        threading.Thread(target=self._run, name="chat-courier", daemon=True).start()

    def post(self, answer_id: int, event: Event) -> None:
        """Send an event as soon as may be."""
        with self._wake:
            self._out.append((answer_id, event))
            self._n_posted += 1
            self._wake.notify_all()

    def remind(self, at: float, publisher: Publisher) -> None:
        """Have a publisher say its words at a monotonic second."""
        with self._wake:
            heapq.heappush(self._due, (at, next(self._order), publisher))
            self._wake.notify_all()

    def flush(self, timeout_s: float = FLUSH_S) -> bool:
        """Wait until everything posted so far is out; False when that takes too long."""
        with self._wake:
            upto = self._n_posted
            return self._wake.wait_for(lambda: self._n_sent >= upto, timeout_s)

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._out and not self._ripe():
                    self._wake.wait(self._due[0][0] - time.monotonic() if self._due else None)
                ripe = []
                while self._ripe():
                    ripe.append(heapq.heappop(self._due)[2])
            for publisher in ripe:
                publisher.say_now()
            with self._wake:
                batch, self._out = self._out, []
            if batch:
                self._send(batch)
                with self._wake:
                    self._n_sent += len(batch)
                    self._wake.notify_all()

    def _ripe(self) -> bool:
        """Whether a reminder is due."""
        return bool(self._due) and self._due[0][0] <= time.monotonic()

    def _send(self, batch: list[tuple[int, Event]]) -> None:
        try:
            with liveness.client().pipeline(transaction=False) as pipe:
                for answer_id, event in batch:
                    key = events.stream_key(answer_id)
                    entry: dict[Any, Any] = dict(event.fields)
                    pipe.xadd(key, entry, id=f"0-{event.n}", maxlen=events.MAX_KEPT, approximate=True)
                    pipe.expire(key, events.KEPT_S)
                    pipe.publish(events.bell_channel(answer_id), event.bell)
                # An event sent again after a broken connection stands there already.
                pipe.execute(raise_on_error=False)
            self._is_in_trouble = False
        except Exception as error:  # noqa: BLE001 - redis raises many kinds; viewers read the rows instead
            if not self._is_in_trouble:
                log.warning("events_not_told", n_events=len(batch), error=f"{type(error).__name__}: {error}")
            self._is_in_trouble = True


_couriers: dict[int, _Courier] = {}
_couriers_lock = threading.Lock()


def courier() -> _Courier:
    """The courier of this process."""
    pid = os.getpid()
    if pid not in _couriers:
        with _couriers_lock:
            if pid not in _couriers:
                _couriers[pid] = _Courier()
    return _couriers[pid]


def _last_n(answer_id: int) -> int:
    try:
        last: Any = liveness.client().xrevrange(events.stream_key(answer_id), count=1)
    except Exception as error:  # noqa: BLE001 - as above
        log.warning("events_not_read", error=f"{type(error).__name__}: {error}")
        return 0
    return events.of_entry(*last[0]).n if last else 0
