"""The worker's side of one streamed answer: pieces to the asker, and whether anybody still wants them."""

from __future__ import annotations

import time

from synth.inference import queue
from synth.inference.wire import MAX_UNREAD, REPLY_S, Envelope, Problem, cancel_key, piece, reply_key

LOOK_S = 0.05


class Telling:
    """One ask of a streamed kind while it is answered."""

    def __init__(self, ask: Envelope) -> None:
        self.ask = ask
        self._looked_at = 0.0
        self._n_unread = 0

    def say(self, text: str) -> None:
        """Send some words; none for ""."""
        if not text:
            return
        key = reply_key(self.ask.id)
        with queue.client().pipeline(transaction=False) as pipe:
            pipe.rpush(key, piece(text))
            pipe.expire(key, REPLY_S)
            self._n_unread = int(pipe.execute()[0])

    def is_due(self) -> bool:
        """Whether it is time to look around again: twenty times a second."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return False
        self._looked_at = now
        return True

    def ended(self) -> Problem | None:
        """Why the rest need not be made: the deadline is over, or the asker is gone."""
        if self.ask.deadline <= time.time():
            return Problem("late", "The deadline passed.")
        if self._n_unread > MAX_UNREAD or queue.client().exists(cancel_key(self.ask.id)):
            return Problem("cancelled", "Nobody waits for it.")
        return None
