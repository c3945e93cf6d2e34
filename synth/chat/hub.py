"""The answers that are watched in this web process: one bell, one look at the rows, for all of them.

Every 5 s the rows of all watched answers are read in one query. So a bell that was lost, a worker that died,
or a Redis that is away costs seconds, and every stream ends.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
from django.db import DatabaseError
from redis.exceptions import RedisError

from synth import liveness
from synth.chat import events, looks, viewers
from synth.chat.events import Event
from synth.chat.looks import Look
from synth.chat.reading import Reader
from synth.chat.rooms import Room
from synth.net.aside import aside
from synth.net.bells import Bells, bells

LOOK_S = 5.0
# An end that is in the row and not told yet gets this long: the row is always first.
GRACE_S = 1.0
log = structlog.get_logger(__name__)
_numbers = itertools.count(1)


@dataclass
class Seat:
    """One viewer's place: what it was told last. `is_done` once it was told the end."""

    room: Room
    member: str
    n: int = 0
    is_done: bool = False

    async def next(self) -> list[Event]:
        """What to tell now, in order; empty when there is nothing, then wait for the wake."""
        if self.is_done:
            return []
        found = await self.room.after(self.n)
        for at, event in enumerate(found):
            self.n = event.n
            if event.is_terminal:
                self.is_done = True
                return found[: at + 1]
        return found


class Hub:
    """Made and used on one event loop."""

    def __init__(self, ears: Bells) -> None:
        self.bells = ears
        self.reader = Reader(ears.store)
        self.rooms: dict[int, Room] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_looked_for = asyncio.Event()
        ears.on_return.append(self._bells_are_back)

    @asynccontextmanager
    async def seat(
        self,
        answer_id: int,
        wake: asyncio.Event,
        *,
        n: int = 0,
        is_viewer: bool = True,
        is_over: bool = False,
    ) -> AsyncIterator[Seat]:
        """A place of one who was told `n` events; `wake` is set at news. `is_over`: the answer has ended,
        so its row is looked at right away. Who is no viewer keeps nothing running.
        """
        room = await self._enter(answer_id)
        seat = Seat(room, f"{liveness.here()}:{os.getpid()}:{next(_numbers)}", n)
        room.wakes.add(wake)
        try:
            if is_viewer:
                room.members.add(seat.member)
                await viewers.enter(self.bells.store, answer_id, seat.member)
            if is_over and room.final is None:
                await room.learn()
                self._is_looked_for.set()
            yield seat
        finally:
            room.wakes.discard(wake)
            room.members.discard(seat.member)
            await self._leave(room)

    def left(self, seat: Seat, *, wait_s: float, reason: str) -> None:
        """The client of this seat went away; see `viewers.left`. Moot once the answer has ended."""
        if seat.room.final is None:
            viewers.left(self.bells.store, seat.room.answer_id, seat.member, wait_s=wait_s, reason=reason)

    async def _enter(self, answer_id: int) -> Room:
        room = self.rooms.get(answer_id)
        if room is None:
            room = self.rooms[answer_id] = Room(answer_id, self.reader)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="hub")
        if room.is_heard is None:
            room.is_heard = asyncio.ensure_future(
                self.bells.hear(events.bell_channel(answer_id), room.on_bell)
            )
        room.holders += 1
        try:
            # Shielded: others of this room wait for the same.
            await asyncio.shield(room.is_heard)
        except BaseException:
            await self._leave(room)
            raise
        return room

    async def _leave(self, room: Room) -> None:
        room.holders -= 1
        if room.holders == 0:
            self.rooms.pop(room.answer_id, None)
            await self.bells.forget(events.bell_channel(room.answer_id))

    def _bells_are_back(self) -> None:
        for room in self.rooms.values():
            room.fill_soon()

    async def _watch(self) -> None:
        """Look every 5 s while anybody watches, and at once for an answer that has ended."""
        while self.rooms:
            try:
                await self._look(list(self.rooms.values()))
            except (DatabaseError, RedisError, OSError) as error:
                log.warning("answers_not_looked_at", error=f"{type(error).__name__}: {error}")
            except Exception:  # noqa: BLE001 - every stream of this process depends on this loop
                log.exception("look_broke")
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._is_looked_for.wait()
            except TimeoutError:
                pass
            self._is_looked_for.clear()

    async def _look(self, rooms: list[Room]) -> None:
        await viewers.renew(self.bells.store, [(room.answer_id, set(room.members)) for room in rooms])
        await self._compare(rooms)
        found = await aside(looks.look, [room.answer_id for room in rooms])
        if any(row.is_silent for row in found.values()):
            await aside(looks.settle)
            found = await aside(looks.look, [room.answer_id for room in rooms])
        await self._ring_again([pk for pk, row in found.items() if row.is_waiting])
        ended = [room for room in rooms if _take(room, found.get(room.answer_id))]
        if ended:
            await self._end(ended)

    async def _compare(self, rooms: list[Room]) -> None:
        """Find out where a bell was lost: the newest event in Redis beside the newest that is known."""
        known = [(room, room.n) for room in rooms if room.n is not None]
        try:
            newest = await self.reader.newest_of(room.answer_id for room, _ in known)
        except (RedisError, OSError) as error:
            log.debug("events_not_compared", error=str(error))
            return
        for (room, was), event in zip(known, newest, strict=True):
            n = event.n if event is not None else 0
            if n > (room.n or 0):
                await room.fill()
            elif 0 < n < was:
                room.restarted(n)

    async def _ring_again(self, ids: list[int]) -> None:
        if not ids:
            return
        try:
            async with self.bells.store.pipeline(transaction=False) as pipe:
                for answer_id in ids:
                    # One ring each: where nobody listens they must not pile up.
                    pipe.lrem(events.RING, 0, str(answer_id))
                    pipe.rpush(events.RING, answer_id)
                await pipe.execute()
        except (RedisError, OSError) as error:
            log.debug("not_rung_again", error=str(error))

    async def _end(self, rooms: list[Room]) -> None:
        """Answers that have ended by their row: by their own last event where it comes in time."""
        for room in rooms:
            await room.fill()
        silent = [room for room in rooms if room.final is None]
        if any(room.n for room in silent):
            await asyncio.sleep(GRACE_S)
            for room in silent:
                await room.fill()
        left = {room.answer_id: room for room in silent if room.final is None}
        if left:
            for answer_id, event in (await aside(looks.endings, list(left))).items():
                left[answer_id].conclude(event)


def _take(room: Room, row: Look | None) -> bool:
    """Note what the row says; whether it has ended and the room does not know how."""
    if row is None or not row.is_streaming:
        return room.final is None
    if room.is_behind or row.is_asked != room.is_asked:
        room.is_behind, room.is_asked = False, row.is_asked
        room.notify()
    return False


_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(bells())
    return _hubs[loop]
