"""Lets go of dialogues nobody has used for long: scratch ones after a day, others as the install wants.

What an agent wrote into its diary about them stays: it remembers, though the words are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest

from synth import faults, options
from synth.errors import Conflict
from synth.models import Dialogue, Message, MessageStatus, Sitting, SittingStatus
from synth.rowqueue.deadline import Deadline
from synth.services import dialogue_deletion, dialogues

SCRATCH = timedelta(days=1)
ACTOR = "retention"
_CHUNK = 100
log = structlog.get_logger(__name__)
faults.declare("dialogues.retention.before", "an idle dialogue is gone, the transaction is still open")


def kept_for() -> timedelta | None:
    """How long dialogues stay after their last use; None: for ever."""
    days = options.read("DIALOGUE_RETENTION_DAYS")
    return timedelta(days=days) if days else None


def sweep(at: datetime, deadline: Deadline | None = None) -> Counter[str]:
    """Delete what was last used too long before `at`, each in a transaction of its own; rows by table.

    Not while an answer is on its way, a question is open or a sitting waits for its diary entry.
    """
    gone: Counter[str] = Counter()
    for pk in _due(at):
        if deadline is not None and deadline.is_over:
            break
        try:
            gone.update(_let_go(pk, at))
        except Conflict as conflict:
            log.info("dialogue_kept", dialogue=str(pk), reason=conflict.code)
    if gone:
        log.info("dialogues_let_go", **{table.replace(".", "_"): n for table, n in sorted(gone.items())})
    return gone


def is_due(row: Dialogue, at: datetime) -> bool:
    """Whether its time is over: it counts from the last words, or from when it was brought back."""
    kept = SCRATCH if row.is_scratch else kept_for()
    return kept is not None and max(row.at, row.unarchived_at or row.at) < at - kept


def _due(at: datetime) -> Iterator[UUID]:
    """Ids, longest unused first; a chunk is read when the one before is done."""
    last: tuple[datetime, UUID] | None = None
    while True:
        rows = _idle(at).order_by("at", "id")
        if last is not None:
            rows = rows.filter(Q(at__gt=last[0]) | Q(at=last[0], id__gt=last[1]))
        found = list(rows.values_list("at", "id")[:_CHUNK])
        if not found:
            return
        for row in found:
            yield row[1]
        last = found[-1]


def _idle(at: datetime) -> QuerySet[Dialogue]:
    kept = kept_for()
    is_old = Q(is_scratch=True, at__lt=at - SCRATCH, used_at__lt=at - SCRATCH)
    if kept is not None:
        is_old |= Q(is_scratch=False, at__lt=at - kept, used_at__lt=at - kept)
    rows = Dialogue.objects.annotate(used_at=Greatest(F("at"), F("unarchived_at"))).filter(is_old)
    streaming = Message.objects.filter(dialogue=OuterRef("pk"), status=MessageStatus.STREAMING)
    open_ones = (SittingStatus.QUEUED, SittingStatus.RUNNING)
    sitting = Sitting.objects.filter(dialogue=OuterRef("pk"), status__in=open_ones)
    return rows.exclude(Exists(streaming)).exclude(Exists(sitting))


def _let_go(pk: UUID, at: datetime) -> dict[str, int]:
    """Delete one that is still due once it is locked; rows by table, with its receipt in the audit log."""
    with transaction.atomic():
        row = dialogues.lock(pk)
        if not is_due(row, at):
            return {}
        dialogues.refuse_running(row)
        counts = dialogue_deletion.remove(row, keeps_diary=True)
        dialogues.note_deleted(row, ACTOR, "task", counts)
        faults.point("dialogues.retention.before")
    return counts
