"""Who watches an answer, over all web processes: a lease of 20 s each, in a sorted set by its end.

A process that sees a viewer go takes the lease away; when nobody is left a moment later, the turn is stopped,
unless it waits for a person's word. A process that dies says nothing, so its turns go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import structlog
from redis.exceptions import RedisError

from synth.chat import events
from synth.net.aside import aside

if TYPE_CHECKING:
    import redis.asyncio

LEASE_S = 20
KEPT_S = 900
log = structlog.get_logger(__name__)
_leaving: set[asyncio.Task[None]] = set()


async def enter(store: redis.asyncio.Redis, answer_id: int, member: str) -> None:
    """Take a lease; without Redis there is none, and then nobody's going stops the turn."""
    await renew(store, [(answer_id, [member])])


async def renew(store: redis.asyncio.Redis, rooms: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Renew the leases of this process' viewers, by answer."""
    until = time.time() + LEASE_S
    try:
        async with store.pipeline(transaction=False) as pipe:
            for answer_id, members in rooms:
                if scores := dict.fromkeys(members, until):
                    pipe.zadd(events.viewers_key(answer_id), scores)
                    pipe.expire(events.viewers_key(answer_id), KEPT_S)
            if len(pipe):
                await pipe.execute()
    except (RedisError, OSError) as error:
        log.debug("viewers_not_renewed", error=str(error))


def left(store: redis.asyncio.Redis, answer_id: int, member: str, *, wait_s: float, reason: str) -> None:
    """The client of this viewer went. In `wait_s` seconds the turn is stopped, if nobody watches it then."""
    task = asyncio.create_task(_leave(store, answer_id, member, wait_s, reason), name=f"left-{answer_id}")
    _leaving.add(task)
    task.add_done_callback(_leaving.discard)


async def _leave(store: redis.asyncio.Redis, answer_id: int, member: str, wait_s: float, reason: str) -> None:
    key = events.viewers_key(answer_id)
    try:
        await store.zrem(key, member)
        await asyncio.sleep(wait_s)
        # Once more: a renewal may have been under way.
        await store.zrem(key, member)
        await store.zremrangebyscore(key, "-inf", time.time())
        n_left = await store.zcard(key)
    except (RedisError, OSError) as error:
        log.warning("viewers_unknown", answer=answer_id, error=str(error))
        return
    if n_left == 0:
        await _stop(answer_id, reason)


async def _stop(answer_id: int, reason: str) -> None:
    from synth.services import turns

    try:
        await aside(turns.leave, answer_id, reason)
        log.info("turn_left", answer=answer_id, reason=reason)
    except Exception:  # noqa: BLE001 - nobody waits for this; the turn then ends by itself
        log.exception("turn_not_stopped", answer=answer_id)
