"""The inboxes that are watched in this web process: one bell each, one query for all that have news.

Every 5 s the counters of all of them are read in one query, so a lost bell costs seconds.
"""

from __future__ import annotations

import asyncio
import json
import weakref
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog
from django.db import DatabaseError

from reminders import selectors
from reminders.services.bells import channel_of
from synth.chat.sse import frame
from synth.net.aside import aside
from synth.net.bells import Bells, bells

LOOK_S = 5.0
MAX_RECENT = 100
PAGE = 200
MAX_CONTROLS = 100
log = structlog.get_logger(__name__)
Told = tuple[int, bytes]  # a delivery's number, and its event


@dataclass
class Room:
    """One person's inbox: `seq` is the last number known, `recent` the newest events up to it."""

    person_id: int
    seq: int
    recent: deque[Told] = field(default_factory=lambda: deque(maxlen=MAX_RECENT))
    seats: list[Seat] = field(default_factory=list)

    def feed(self, told: list[Told]) -> None:
        """New deliveries, in order."""
        for seq, event in told:
            if seq > self.seq:
                self.seq = seq
                self.recent.append((seq, event))
        self.notify()

    def notify(self) -> None:
        """Wake those who have not been told everything."""
        for seat in self.seats:
            if seat.seq < self.seq or seat.controls:
                seat.wake.set()


@dataclass
class Seat:
    """One client's place: `seq` is the last number it was told; `controls` wait to be told beside."""

    room: Room
    epoch: str
    wake: asyncio.Event
    seq: int
    controls: deque[bytes] = field(default_factory=lambda: deque(maxlen=MAX_CONTROLS))

    async def next(self) -> list[bytes]:
        """What to tell now; empty when there is nothing, then wait for the wake."""
        told = await self._deliveries()
        if told:
            self.seq = told[-1][0]
            return [event for _, event in told]
        found = list(self.controls)
        self.controls.clear()
        return found

    async def _deliveries(self) -> list[Told]:
        room = self.room
        if self.seq >= room.seq:
            return []
        if room.recent and room.recent[0][0] <= self.seq + 1:
            return [item for item in room.recent if item[0] > self.seq]
        upto = room.seq
        try:
            rows = await aside(selectors.inbox_events, {room.person_id: self.seq}, PAGE)
        except DatabaseError as error:
            log.warning("inbox_not_read", error=str(error))
            return []
        if not rows:
            self.seq = upto  # what was there is deleted
        return [(seq, tell(self.epoch, seq, text)) for _, seq, text in rows]


def tell(epoch: str, seq: int, text: str) -> bytes:
    """The event of one delivery."""
    return frame("delivery", text, f"{epoch}-{seq}")


class Inboxes:
    """Made and used on one event loop."""

    def __init__(self, ears: Bells) -> None:
        self.bells = ears
        self.rooms: dict[int, Room] = {}
        self._epochs: dict[int, str] = {}
        self._news: set[int] = set()
        self._fetching: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        ears.on_return.append(self._look_soon)

    @asynccontextmanager
    async def seat(
        self, person_id: int, epoch: str, seq: int, at: int, wake: asyncio.Event
    ) -> AsyncIterator[Seat]:
        """A place of a client that was told up to `seq`; the inbox stood at `at` when it asked."""
        room = self.rooms.get(person_id)
        if room is None:
            room = self.rooms[person_id] = Room(person_id, at)
        self._epochs[person_id] = epoch
        seat = Seat(room, epoch, wake, seq)
        room.seats.append(seat)
        try:
            await self.bells.hear(channel_of(person_id), partial(self._on_bell, person_id))
            self._fetch_soon(person_id)
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch(), name="inboxes")
            yield seat
        finally:
            room.seats.remove(seat)
            if not room.seats and self.rooms.get(person_id) is room:
                del self.rooms[person_id], self._epochs[person_id]
                await self.bells.forget(channel_of(person_id))

    def _on_bell(self, person_id: int, said: str) -> None:
        room = self.rooms.get(person_id)
        if room is None:
            return
        if said.isdigit():
            if int(said) > room.seq:
                self._fetch_soon(person_id)
            return
        event = frame("status", json.dumps(json.loads(said), separators=(",", ":")))
        for seat in room.seats:
            seat.controls.append(event)
        room.notify()

    def _fetch_soon(self, *person_ids: int) -> None:
        """Read the new rows of these inboxes, together with all others that have news by then."""
        self._news.update(person_ids)
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._fetch(), name="inbox-news")

    async def _fetch(self) -> None:
        while self._news:
            wanted = {pk: self.rooms[pk].seq for pk in self._news if pk in self.rooms}
            self._news.clear()
            try:
                rows = await aside(selectors.inbox_events, wanted, max(PAGE, 2 * len(wanted)))
            except DatabaseError as error:
                log.warning("inbox_not_read", error=str(error))
                return
            told: dict[int, list[Told]] = {}
            for person_id, seq, text in rows:
                if person_id in self.rooms:
                    item = (seq, tell(self._epochs[person_id], seq, text))
                    told.setdefault(person_id, []).append(item)
            for person_id, items in told.items():
                self.rooms[person_id].feed(items)
            if len(rows) >= max(PAGE, 2 * len(wanted)):
                self._news.update(wanted)

    def _look_soon(self) -> None:
        self._fetch_soon(*self.rooms)

    async def _watch(self) -> None:
        """Compare numbers with the counters every 5 s while anybody watches."""
        while self.rooms:
            await asyncio.sleep(LOOK_S)
            try:
                counters = await aside(selectors.counters, list(self.rooms))
            except DatabaseError as error:
                log.warning("inboxes_not_looked_at", error=str(error))
                continue
            behind = [pk for pk, seq in counters.items() if pk in self.rooms and seq > self.rooms[pk].seq]
            if behind:
                self._fetch_soon(*behind)
            for room in self.rooms.values():
                room.notify()


_inboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Inboxes] = weakref.WeakKeyDictionary()


def inboxes() -> Inboxes:
    """The inboxes of the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _inboxes:
        _inboxes[loop] = Inboxes(bells())
    return _inboxes[loop]
