"""Doors of the core's background work: ids in, one service call, safe to knock twice."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from synth.rowqueue.deadline import Deadline
from synth.services import (
    approvals,
    dialogue_retention,
    dialogues,
    draining,
    memory_vectors,
    outbox,
    retention,
    sittings,
)


@shared_task(name="synth.tasks.drain_handler")
def drain_handler(handler: str) -> None:
    """Handle what waits for one event handler; what time does not allow is left to the next drain."""
    deadline = Deadline(50)
    draining.drain(handler, deadline)
    if deadline.is_over:
        outbox.ring_handlers([handler])


@shared_task(name="synth.tasks.drain_outbox")
def drain_outbox() -> None:
    """Each minute: wake a drain for every handler with rows due, for lost rings and tries that waited."""
    outbox.ring_handlers(outbox.waiting_handlers(timezone.now()))


@shared_task(name="synth.tasks.prune_outbox")
def prune_outbox() -> None:
    """Each hour: delete events that all handlers finished two weeks ago."""
    outbox.prune(Deadline(50))


@shared_task(name="synth.tasks.settle_turns")
def settle_turns() -> None:
    """Each minute: mark answers whose process died as failed, so that their dialogues go on."""
    dialogues.settle_crashed(timezone.now())


@shared_task(name="synth.tasks.tend_approvals")
def tend_approvals() -> None:
    """Each minute: end questions that nobody answered in time or whose turn is over."""
    approvals.expire_due(timezone.now())


@shared_task(name="synth.tasks.let_go")
def let_go() -> None:
    """Each hour: remove bodies of old language model calls and answers kept for repeated requests."""
    retention.sweep(timezone.now())


@shared_task(name="synth.tasks.let_dialogues_go")
def let_dialogues_go() -> None:
    """Each hour: delete scratch dialogues of yesterday, and those unused for longer than they are kept."""
    dialogue_retention.sweep(timezone.now(), Deadline(50))


@shared_task(name="synth.tasks.end_sittings")
def end_sittings() -> None:
    """Each minute: queue the sittings that ended, and wake a worker for those that wait."""
    sittings.queued(timezone.now())


@shared_task(name="synth.tasks.run_sittings")
def run_sittings() -> None:
    """Write the sittings that wait into the diary."""
    sittings.run_waiting()


@shared_task(name="synth.tasks.make_memory_vectors")
def make_memory_vectors() -> None:
    """Each minute: have what memories mean read by the torch worker, where it is missing."""
    memory_vectors.sweep(Deadline(50))
