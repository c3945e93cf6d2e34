"""Gives each memory its vector in the background, in small asks made while the worker has nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator

import structlog
from django.db.models import Count

from synth.inference import queue
from synth.models import Agent, Memory, MemoryVector
from synth.recall import near
from synth.recall.near import Unread
from synth.rowqueue.deadline import Deadline
from synth.services import meanings

BATCH, BATCH_CHARS = 8, 1_000  # about a quarter of a second on one core: what others wait for at most
PAGE = 200
ASK_S, LEAST_ASK_S = 20.0, 5.0
NO_LIMIT = 2**62
log = structlog.get_logger(__name__)


def sweep(deadline: Deadline) -> int:
    """Make vectors that are missing, the newest memories first, while there is time and a worker; how many.

    Nothing is asked when none is missing, so the model of an idle install is left alone. A memory that the
    worker cannot read is passed over until the next sweep.
    """
    if not meanings.is_on() or not queue.is_served():
        return 0
    while (model := meanings.model_seen()) and near.drop_others(model) and not deadline.is_over:
        pass
    n = 0
    try:
        for batch in _waiting():
            n += _make(batch, min(ASK_S, max(LEAST_ASK_S, deadline.remaining_s)))
            if deadline.is_over:
                break
    except queue.NoAnswer as error:
        log.info("memory_vectors_paused", reason=error.reason)
    if n:
        log.info("memory_vectors_made", n=n)
    return n


def _waiting() -> Iterator[list[Unread]]:
    """Batches of memories without a vector, each memory once."""
    before = NO_LIMIT
    while page := near.missing(before, PAGE):
        before = page[-1].id
        yield from batches(page)


def batches(memories: list[Unread]) -> list[list[Unread]]:
    """In their order, a few at a time and not many characters together; one long one goes alone."""
    found: list[list[Unread]] = []
    chars = 0
    for one in memories:
        chars += len(one.text)
        if not found or len(found[-1]) == BATCH or chars > BATCH_CHARS:
            found.append([])
            chars = len(one.text)
        found[-1].append(one)
    return found


def _make(batch: list[Unread], wait_s: float) -> int:
    """Ask and save; one by one where the worker refuses them together. NoAnswer when it does not answer."""
    try:
        made = meanings.passages([one.text for one in batch], time.time() + wait_s)
    except (queue.Rejected, ValueError) as error:
        if len(batch) > 1:
            return sum(_make([one], wait_s) for one in batch)
        log.warning("memory_not_read", memory=batch[0].id, error=str(error)[:200])
        return 0
    return sum(near.save(one, meaning) for one, meaning in zip(batch, made, strict=True))


def counts(agent: Agent) -> dict[str, int]:
    """How many memories of an agent have a vector, by the model that made it; under "" those without."""
    ids = Memory.objects.filter(agent=agent)
    rows = MemoryVector.objects.filter(agent_id=agent.pk).values_list("model").annotate(n=Count("pk"))
    found = dict(rows.order_by("model"))
    return {"": ids.count() - sum(found.values()), **found}
