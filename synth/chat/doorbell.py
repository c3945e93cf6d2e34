"""Wakes the worker for an answer that waits, and tells it to stop one. Lost rings cost 5 s at most."""

from __future__ import annotations

import structlog
from django.db import transaction

from synth import liveness
from synth.chat import events

MAX_RINGS = 1_000  # what nobody listens to does not pile up
log = structlog.get_logger(__name__)


def ring(answer_id: int) -> None:
    """Wake a worker for this answer once the current transaction commits. Never raises."""
    transaction.on_commit(lambda: _ring(answer_id), robust=True)


def tell_to_stop(answer_id: int) -> None:
    """Tell whoever writes this answer to stop. Never raises; the worker re-reads the row every 2 s."""
    try:
        liveness.client().publish(events.stop_channel(), str(answer_id))
    except Exception as error:  # noqa: BLE001 - redis raises many kinds
        log.warning("stop_not_told", answer=answer_id, error=f"{type(error).__name__}: {error}")


def _ring(answer_id: int) -> None:
    try:
        with liveness.client().pipeline(transaction=False) as pipe:
            pipe.rpush(events.RING, str(answer_id))
            pipe.ltrim(events.RING, -MAX_RINGS, -1)
            pipe.execute()
    except Exception as error:  # noqa: BLE001 - as above
        log.warning("chat_ring_lost", answer=answer_id, error=f"{type(error).__name__}: {error}")
