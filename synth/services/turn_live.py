"""The turns that run in this process: what each has shown, saved every 2 s, and how each is stopped.

One thread saves for all of them and looks whether somebody wants one stopped, also while a model is silent.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import structlog
from django.db import DatabaseError, connection

from synth.chat.publishing import Publisher
from synth.chat.visible import Visible
from synth.llm.sink import Sink
from synth.models import Message, MessageStatus, TurnState

SAVE_S = 2.0
STEP_S = 0.25
SHUTDOWN, GONE = "shutdown", "gone"
log = structlog.get_logger(__name__)


class Live(Sink):
    """One running turn: takes the model's words, tells them to viewers and keeps them for the next save."""

    def __init__(self, answer: Message, n_events: int | None = 0) -> None:
        super().__init__()
        self.answer = answer
        self.reason = ""
        self.publisher = Publisher(answer.pk, n_events)
        self.attempt = answer.attempt
        self._words = threading.Lock()
        self._visible = Visible()
        self._saved: tuple[str, int] = ("", -1)
        self._is_saved = False
        self.saved_at = time.monotonic()

    def text(self, piece: str) -> None:
        """Words of the model; those for the person go out at once."""
        with self._words:
            if words := self._visible.feed(piece):
                self.publisher.delta(words)

    def begin_round(self) -> None:
        """The model is asked anew."""
        with self._words:
            self._visible = Visible()

    def end_round(self, content: str) -> None:
        """The reply is whole and `content` is what is kept of it: tell what was held back."""
        with self._words:
            self.publisher.delta(self._visible.finish(content))

    def end(self, reason: str) -> None:
        """Stop the turn: its model's host is hung up on at once. Safe to repeat; the first reason counts."""
        self.reason = self.reason or reason
        self.stop()

    def so_far(self) -> tuple[str, int]:
        """The words shown of the current reply, and the number of the event that told the last of them."""
        with self._words:
            self.publisher.say_now()
            return self._visible.shown, self.publisher.n

    def save(self) -> None:
        """Write the words so far into the row, unless it was moved meanwhile or nothing is new."""
        self.saved_at = time.monotonic()
        content, n = self.so_far()
        if (content, n) == self._saved:
            return
        mine = Message.objects.filter(
            pk=self.answer.pk,
            attempt=self.attempt,
            status=MessageStatus.STREAMING,
            lease_until__isnull=False,  # laid aside meanwhile, the row knows more
        )
        if mine.update(content=content, metadata={"n_events": n}):
            self._is_saved = True
        elif self._is_saved or Message.objects.filter(pk=self.answer.pk, attempt__gt=self.attempt).exists():
            self.end(GONE)  # erased, or settled by somebody who took us for dead
        self._saved = (content, n)


_lives: dict[int, Live] = {}
_lock = threading.Lock()
_keeper: list[threading.Thread] = []


def begin(answer: Message, n_events: int | None = 0) -> Live:
    """From now on the turn of this answer runs here."""
    live = Live(answer, n_events)
    with _lock:
        _lives[answer.pk] = live
        if not _keeper or not _keeper[0].is_alive():
            _keeper[:] = [threading.Thread(target=_keep, name="chat-keeper", daemon=True)]
            _keeper[0].start()
    return live


def end(live: Live) -> None:
    """It does not any more."""
    with _lock:
        if _lives.get(live.answer.pk) is live:
            del _lives[live.answer.pk]


def all_live() -> list[Live]:
    """Every turn that runs here."""
    with _lock:
        return list(_lives.values())


def stop(answer_id: int, reason: str = "") -> bool:
    """Stop the turn of an answer if it runs here; without a reason the one in its row counts."""
    with _lock:
        live = _lives.get(answer_id)
    if live is not None:
        live.end(reason)
    return live is not None


def _keep() -> None:
    looked_at = 0.0
    while True:
        time.sleep(STEP_S)
        lives = all_live()
        if not lives:
            with _lock:
                if not _lives:
                    _keeper.clear()
                    return
        at = time.monotonic()
        try:
            if at - looked_at >= SAVE_S:
                looked_at = at
                _stop_asked(lives)
            for live in lives:
                if at - live.saved_at >= SAVE_S:
                    live.save()
        except DatabaseError as error:
            log.warning("partial_answers_not_saved", error=f"{type(error).__name__}: {error}")
        except Exception:  # noqa: BLE001 - one bad turn must not end the keeping of all
            log.exception("keeper_failed")
        finally:
            connection.close()


def _stop_asked(lives: list[Live]) -> None:
    """A stop whose message was lost stands in the row."""
    asked: Any = TurnState.objects.filter(
        pk__in=[live.answer.pk for live in lives], stop_requested_at__isnull=False
    ).values_list("pk", "stop_reason")
    for pk, reason in asked:
        stop(pk, reason)
