"""The worker's ear for chats: begins answers that wait, each in a thread of its own, and stops them.

A ring makes it look at once; every 5 s it looks anyway. It takes no more than CHAT_SLOTS at a time. When the
worker ends, no new turns begin, running ones get 15 s, and what is left is saved and told.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import structlog
from django.conf import settings
from django.db import connection
from django.utils.timezone import now

from synth import options
from synth.chat import doorbell, events
from synth.llm import hosts
from synth.models import Message
from synth.services import turn_ends, turn_live, turn_run

LOOK_S = 5.0
GRACE_S = 15.0
QUIET_S = 30.0  # since the last claim: then its connection is closed for good
SAVE_S = 4.0  # for turns that are ended to save what they have
PAUSE_S = 1.0
log = structlog.get_logger(__name__)


class Listener:
    """Begins and stops the turns of this process. `start()` once, `close()` then `wait()` at its end."""

    def __init__(self, slots: int | None = None, look_s: float = LOOK_S, grace_s: float = GRACE_S) -> None:
        self.slots = slots or options.read("CHAT_SLOTS")
        self._look_s, self._grace_s = look_s, grace_s
        self._n_running = 0
        self._settle_at = 0.0
        self._claimed_at = -QUIET_S
        self._free = threading.Condition()
        self._taking = threading.Lock()
        self._is_closing = threading.Event()
        self._drain = threading.Thread(target=self._end, name="chat-end", daemon=True)
        self._threads = [
            threading.Thread(target=self._work, name="chat-listener", daemon=True),
            threading.Thread(target=self._hear_stops, name="chat-stops", daemon=True),
        ]

    def start(self) -> None:
        """Begin to listen; what waits already is looked for at once."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Begin no more turns; 15 s later end those that still run."""
        if not self._is_closing.is_set():
            self._is_closing.set()
            self._drain.start()

    def wait(self) -> bool:
        """After `close()`: until all turns are over, or cannot be waited for. Whether they are."""
        self._drain.join()
        return self._n_running == 0

    def _end(self) -> None:
        with self._taking:
            pass  # what a claim under way brings is counted by now, and none follows
        if not self._wait_idle(self._grace_s):
            for live in turn_live.all_live():
                live.end(turn_live.SHUTDOWN)
            if not self._wait_idle(SAVE_S):
                log.warning("turns_left_behind", n_turns=self._n_running)

    def _wait_idle(self, timeout_s: float) -> bool:
        with self._free:
            return self._free.wait_for(lambda: self._n_running == 0, timeout_s)

    def _work(self) -> None:
        store = self._store()
        while not self._is_closing.is_set():
            try:
                self._settle()
                if self._wait_for_room():
                    with self._taking:
                        is_all = self._is_closing.is_set() or not self._take()
                    if is_all:
                        self._await_ring(store)
            except Exception as error:  # noqa: BLE001 - without Redis or the database it tries again
                log.warning("chat_listener_troubled", error=f"{type(error).__name__}: {error}")
                self._is_closing.wait(PAUSE_S)
            finally:
                connection.close()

    def _settle(self) -> None:
        """Fail what a worker that is gone left behind, at the start and then as often as it looks."""
        if time.monotonic() >= self._settle_at:
            self._settle_at = time.monotonic() + self._look_s
            turn_ends.settle_crashed(now())

    def _wait_for_room(self) -> bool:
        with self._free:
            return self._free.wait_for(lambda: self._n_running < self.slots, self._look_s)

    def _await_ring(self, store: Any) -> None:
        if connection.connection is not None and time.monotonic() - self._claimed_at >= QUIET_S:
            # Looking every 5 s would keep one open for ever: an idle worker holds none. While people talk it
            # is kept, because making a new one would be on the way to the next person's first word.
            connection.connection.close()
        connection.close()
        if store.blpop([events.RING], timeout=self._look_s) is not None:
            # One look answers every ring so far.
            store.delete(events.RING)

    def _take(self) -> bool:
        """Claim what waits, as far as there is room, and begin it; whether more may wait.

        Whatever comes after the claim rings, so a second look would only be in the way of the turns begun.
        """
        room = self.slots - self._n_running
        rows = turn_run.claim(now(), room)
        if len(rows) == room:
            doorbell.ring(rows[-1].pk)  # there may be more, for another worker
        if rows:
            self._claimed_at = time.monotonic()
        for row in rows:
            with self._free:
                self._n_running += 1
            threading.Thread(target=self._run, args=(row,), name=f"turn-{row.pk}", daemon=True).start()
        return len(rows) == room

    def _run(self, answer: Message) -> None:
        try:
            turn_run.run(answer)
        finally:
            with self._free:
                self._n_running -= 1
                self._free.notify_all()

    def _hear_stops(self) -> None:
        while not self._is_closing.is_set() or self._n_running:
            try:
                with self._store().pubsub(ignore_subscribe_messages=True) as channel:
                    channel.subscribe(events.stop_channel())
                    self._hear(channel)
            except Exception as error:  # noqa: BLE001 - the rows are looked at every 2 s meanwhile
                log.warning("chat_stops_troubled", error=f"{type(error).__name__}: {error}")
                time.sleep(PAUSE_S)

    def _hear(self, channel: Any) -> None:
        while not self._is_closing.is_set() or self._n_running:
            message = channel.get_message(timeout=self._look_s)
            if message is not None and str(message["data"]).isdigit():
                turn_live.stop(int(message["data"]))

    def _store(self) -> Any:
        import redis

        # Longer than any wait, so that only a server that is gone is late.
        late_s = self._look_s + 10
        return redis.Redis.from_url(
            settings.REDIS_URL, decode_responses=True, socket_timeout=late_s, socket_connect_timeout=2
        )


_listeners: list[Listener] = []


def start() -> None:
    """Have this process run turns."""
    if not _listeners:
        _listeners.append(Listener())
        _listeners[0].start()
        threading.Thread(target=hosts.warm_up, name="chat-warm-up", daemon=True).start()


def close() -> None:
    """Begin no more turns in this process."""
    for listener in _listeners:
        listener.close()


def wait() -> None:
    """Let the running ones end."""
    while _listeners:
        _listeners.pop().wait()
