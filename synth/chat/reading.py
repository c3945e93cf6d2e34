"""Reads the events of answers from Redis, on the event loop. RedisError and OSError come through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from synth.chat import events
from synth.chat.events import Event

PAGE = 500


class Reader:
    """`store` is an asyncio Redis client that decodes its answers."""

    def __init__(self, store: Any) -> None:
        self._store = store

    async def page(self, answer_id: int, n: int) -> list[Event]:
        """Up to 500 events from number `n` on, oldest first."""
        key = events.stream_key(answer_id)
        found = await self._store.xrange(key, min=f"0-{n}", max="+", count=PAGE)
        return [events.of_entry(*entry) for entry in found]

    async def at(self, answer_id: int, n: int) -> Event | None:
        """The event of that number; None where it is not there (any more)."""
        found = await self._store.xrange(events.stream_key(answer_id), min=f"0-{n}", max=f"0-{n}")
        return events.of_entry(*found[0]) if found else None

    async def newest(self, answer_id: int) -> Event | None:
        """The last event; None where there is none (any more)."""
        return (await self.newest_of([answer_id]))[0]

    async def newest_of(self, ids: Iterable[int]) -> list[Event | None]:
        """The last event of each answer, in one round trip."""
        async with self._store.pipeline(transaction=False) as pipe:
            for answer_id in ids:
                pipe.xrevrange(events.stream_key(answer_id), count=1)
            found: list[Any] = await pipe.execute() if len(pipe) else []
        return [events.of_entry(*entries[0]) if entries else None for entries in found]
