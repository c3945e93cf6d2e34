"""What one web process knows of an answer that somebody watches; its viewers share it.

Viewers pull: each knows the last event it was told and takes what follows, from the room's newest events or
from Redis. So a slow one costs nothing but time, and a fast one never waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice

import structlog
from redis.exceptions import RedisError

from synth.chat import events, looks
from synth.chat.events import Event
from synth.chat.reading import PAGE, Reader
from synth.net.aside import aside

MAX_RECENT = 1_000
MAX_RECENT_CHARS = 262_144
log = structlog.get_logger(__name__)


class Room:
    """Events `n` and older are known; None until Redis was asked. `recent` are the newest, without gaps.

    `final` ends every viewer's stream: the answer's own last event, or the row's word for it. `is_asked`: a
    person is being asked for an approval. `is_behind`: a viewer waits for words that only the row can tell.
    """

    def __init__(self, answer_id: int, reader: Reader) -> None:
        self.answer_id = answer_id
        self.n: int | None = None
        self.final: Event | None = None
        self.is_asked = False
        self.is_behind = False
        self.recent: deque[Event] = deque()
        self.wakes: set[asyncio.Event] = set()
        self.members: set[str] = set()
        self.holders = 0
        self.is_heard: asyncio.Future[bool] | None = None
        self._reader = reader
        self._n_chars = 0
        self._n_heard = 0
        self._learning = asyncio.Lock()
        self._filling: asyncio.Task[None] | None = None

    def notify(self) -> None:
        """Wake every viewer."""
        for wake in self.wakes:
            wake.set()

    def on_bell(self, message: str) -> None:
        """An event was told. In order it is handed on as it is, else what lies between is fetched."""
        event = events.of_bell(message)
        if event is None:
            return
        self._n_heard = max(self._n_heard, event.n)
        if self.n is None or event.n <= self.n:
            return
        if event.n == self.n + 1:
            self._add(event)
            self.notify()
        else:
            self.fill_soon()

    def feed(self, page: list[Event]) -> None:
        """Take events in order, as far as they follow on what is known; beyond a gap the newest count."""
        was, had_end = self.n, self.final
        for event in page:
            if self.n is None or event.n > self.n:
                self._add(event)
        if (self.n, self.final) != (was, had_end):
            self.notify()

    def _add(self, event: Event) -> None:
        if self.n is not None and event.n != self.n + 1:
            self.recent.clear()
            self._n_chars = 0
        self.n = event.n
        self.recent.append(event)
        self._n_chars += len(event.text)
        while len(self.recent) > 1 and (len(self.recent) > MAX_RECENT or self._n_chars > MAX_RECENT_CHARS):
            self._n_chars -= len(self.recent.popleft().text)
        if event.is_terminal and self.final is None:
            self.final = event

    def conclude(self, event: Event) -> None:
        """The row tells the end, because nothing else does."""
        if self.final is None:
            self.final = event
            self.notify()

    async def learn(self) -> bool:
        """Find out where the stream stands; False while Redis does not say."""
        async with self._learning:
            if self.n is not None:
                return True
            try:
                last = await self._reader.newest(self.answer_id)
            except (RedisError, OSError) as error:
                log.debug("events_not_read", answer=self.answer_id, error=str(error))
                return False
            self.n = last.n if last else 0
            if last is not None and last.is_terminal and self.final is None:
                self.final = last
            if self._n_heard > self.n:
                self.fill_soon()
            return True

    def fill_soon(self) -> None:
        """Fetch what is missing up to now, in the background, once."""
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self.fill(), name=f"fill-{self.answer_id}")

    async def fill(self) -> None:
        """Fetch what is missing up to now; without Redis nothing changes."""
        is_new = self.n is None
        if not await self.learn():
            return
        if is_new:
            self.notify()
        while True:
            page = await self.page((self.n or 0) + 1)
            self.feed(page or [])
            if not page or (len(page) < PAGE and (self.n or 0) >= self._n_heard):
                return

    async def page(self, n: int) -> list[Event] | None:
        """Up to 500 events from `n` on, oldest first; None while Redis does not answer."""
        try:
            return await self._reader.page(self.answer_id, n)
        except (RedisError, OSError) as error:
            log.debug("events_not_read", answer=self.answer_id, error=str(error))
            return None

    def restarted(self, n: int) -> None:
        """Redis counts from anew, because it lost what it had."""
        self.n, self._n_heard = n, n
        self.recent.clear()
        self._n_chars = 0
        self.notify()

    async def after(self, n: int) -> list[Event]:
        """What a viewer who has `n` is told next: events in order, or a `resync`; nothing while there is
        nothing, or nothing can be known.
        """
        if self.final is not None and self.final.n == n + 1:
            return [self.final]
        if not await self.learn() or self.n is None or n == self.n:
            return self._by_row(n)
        if n < self.n and self.recent and self.recent[0].n <= n + 1:
            return list(islice(reversed(self.recent), self.n - n))[::-1]
        page = await self.page(n + 1) if n < self.n else []
        if page is None:
            return []
        if page and page[0].n == n + 1:
            self.feed(page)
            return _unbroken(page)
        return await self._resync(n)

    def _by_row(self, n: int) -> list[Event]:
        """The end by the row's word, with the words that Redis did not tell before it."""
        if self.final is None or self.final.n <= n:
            return []
        if self.final.n < looks.LAST_N or self.final.name != events.END:
            return [self.final]
        whole = str(self.final.data["message"]["content"])
        return [looks.resync(self.answer_id, whole, looks.LAST_N - 1), self.final]

    async def _resync(self, n: int) -> list[Event]:
        """What comes after `n` is gone (or was never there): the content so far, and where it goes on."""
        row = await aside(looks.words, self.answer_id)
        if row is None:
            return []
        if row.is_over:
            if self.final is None:
                return []  # the end is about to be known
            return [looks.resync(self.answer_id, row.content, self.final.n - 1), self.final]
        if n > (self.n or 0) and await self._goes_on_after(0):
            return [looks.resync(self.answer_id, "", 0)]
        is_later = row.n is not None and (row.n > n or n > (self.n or 0))
        if row.n is not None and is_later and await self._goes_on_after(row.n):
            return [looks.resync(self.answer_id, row.content, row.n)]
        self.is_behind = True
        return []  # the next partial save tells, or the end

    async def _goes_on_after(self, n: int) -> bool:
        """Whether every event after `n` can still be had."""
        if n == self.n:
            return True
        page = await self.page(n + 1)
        return bool(page) and page is not None and page[0].n == n + 1


def _unbroken(page: list[Event]) -> list[Event]:
    """The events up to the first gap."""
    return [event for at, event in enumerate(page) if event.n == page[0].n + at]
