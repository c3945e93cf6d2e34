"""Wakes the open inbox streams of a person, in all web processes, once a change is committed.

A bell that is lost costs seconds: streams compare their number with the counter's every 5 s.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import structlog
from django.db import transaction
from redis.exceptions import RedisError

from synth import liveness
from synth.net import clients

if TYPE_CHECKING:
    from reminders.models import Delivery

QUIET_S = 2.0
log = structlog.get_logger(__name__)
_quiet_until = 0.0


def channel_of(person_id: int) -> str:
    """The Redis channel of a person's inbox."""
    return clients.channel(f"inbox:bell:{person_id}")


def arrived(person_id: int, seq: int) -> None:
    """The delivery of that number is in the inbox."""
    _ring(person_id, str(seq))


def moved(row: Delivery) -> None:
    """Somebody saw it, acted on it or put it away: it can vanish from other screens."""
    if row.person_id is not None and row.seq is not None:
        said = {"seq": row.seq, "status": str(row.status), "at": row.moved_at.isoformat()}
        _ring(row.person_id, json.dumps(said, separators=(",", ":")))


def _ring(person_id: int, said: str) -> None:
    transaction.on_commit(lambda: _publish(channel_of(person_id), said), robust=True)


def _publish(channel: str, said: str) -> None:
    global _quiet_until
    if time.monotonic() < _quiet_until:
        return
    try:
        liveness.client().publish(channel, said)
    except (RedisError, OSError) as error:
        # Deliveries in a burst must not each wait for a Redis that is away.
        _quiet_until = time.monotonic() + QUIET_S
        log.warning("inbox_bell_lost", error=f"{type(error).__name__}: {error}")
