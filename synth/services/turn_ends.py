"""How an answer ends: whole, stopped, failed, or laid aside until a person has decided.

Each end is one guarded update that takes the turn's state with it, then one last event for the viewers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from synth import faults
from synth.chat import doorbell, events
from synth.chat.publishing import Publisher
from synth.models import Dialogue, Message, MessageStatus, TurnState
from synth.rowqueue import leases
from synth.services import approvals, check_ins

_CHUNK = 200
CRASHED = "crashed"
log = structlog.get_logger(__name__)
faults.declare("turns.finish.before", "an answer is written, the transaction is still open")
faults.declare("turns.finish.after", "an answer is saved, its viewers do not know")
faults.declare("turns.aside.before", "a turn is laid aside for a person, the transaction is still open")
faults.declare("turns.aside.after", "a turn is laid aside, its row says from when it may go on")


def complete(answer: Message, content: str, metadata: dict[str, Any], fingerprint: str) -> None:
    """Save a whole answer. Conflict `lease_lost` when it is no longer ours."""
    with transaction.atomic():
        _move(
            answer, status=MessageStatus.COMPLETE, content=content, metadata=metadata, fingerprint=fingerprint
        )
        Dialogue.objects.filter(pk=answer.dialogue_id).update(at=now())
        faults.point("turns.finish.before")
    faults.point("turns.finish.after")


def cancel(answer: Message, content: str, metadata: dict[str, Any]) -> None:
    """Save what a stopped turn has said so far. Conflict `lease_lost` when it is no longer ours."""
    with transaction.atomic():
        check_ins.turn_stopped(answer.pk)
        _move(answer, status=MessageStatus.CANCELLED, content=content, metadata=metadata)
        Dialogue.objects.filter(pk=answer.dialogue_id).update(at=now())


def fail(answer: Message, content: str, metadata: dict[str, Any]) -> bool:
    """Settle an answer that broke; False when somebody else has. Never hides the error being handled."""
    try:
        with transaction.atomic():
            _move(answer, status=MessageStatus.FAILED, content=content, metadata=metadata)
    except Exception as error:  # noqa: BLE001 - its lease runs out and the tick settles it
        log.warning("turn_not_settled", answer=answer.pk, error=type(error).__name__)
        return False
    return True


def lay_aside(answer: Message, content: str, n_events: int, loop: Mapping[str, Any]) -> None:
    """Give the row back until a person has decided, or the question runs out. Conflict `lease_lost`.

    A stop that came meanwhile ends the turn at once.
    """
    with transaction.atomic():
        due_at = approvals.due_at(answer)
        TurnState.objects.filter(pk=answer.pk).update(loop=dict(loop))
        leases.guarded(
            answer, was={"status": MessageStatus.STREAMING}, content=content, lease_until=None, due_at=due_at,
            metadata={"n_events": n_events},
        )  # fmt: skip
        if due_at <= now():
            doorbell.ring(answer.pk)
        faults.point("turns.aside.before")
    faults.point("turns.aside.after")
    asked = TurnState.objects.filter(pk=answer.pk, stop_requested_at__isnull=False).first()
    if asked is not None:
        cancel_waiting(answer.pk, asked.stop_reason)


def give_back(answer: Message, n_events: int, loop: Mapping[str, Any]) -> None:
    """Let another worker begin a turn that has said and done nothing yet."""
    with transaction.atomic():
        TurnState.objects.filter(pk=answer.pk).update(loop=dict(loop))
        leases.release(answer, now(), content="", metadata={"n_events": n_events})
        doorbell.ring(answer.pk)


def cancel_waiting(answer_id: int, reason: str) -> bool:
    """End a turn that nobody works on, queued or laid aside; False when somebody does or it is over."""
    with transaction.atomic():
        row = Message.objects.filter(pk=answer_id, status=MessageStatus.STREAMING, lease_until=None).first()
        if row is None:
            return False
        check_ins.turn_stopped(answer_id)
        if not _settle(row, MessageStatus.CANCELLED, reason):
            return False
        transaction.on_commit(lambda: _tell_late(row.pk), robust=True)
    return True


def settle_crashed(at: datetime, dialogue: Dialogue | None = None) -> int:
    """Mark answers whose process went silent (lease over at `at`) as failed, `crashed`; how many.

    What was saved of their text stays. The attempt goes up, so a slow process that still lives can no longer
    write its answer.
    """
    silent = Message.objects.filter(status=MessageStatus.STREAMING, lease_until__lte=at)
    if dialogue is not None:
        silent = silent.filter(dialogue=dialogue)
    settled = []
    for row in silent.order_by("lease_until")[:_CHUNK]:
        with transaction.atomic():
            if _settle(row, MessageStatus.FAILED, CRASHED):
                settled.append(row.pk)
                transaction.on_commit(lambda pk=row.pk: _tell_late(pk), robust=True)  # type: ignore[misc]
    if settled:
        log.warning("turns_crashed", n_settled=len(settled))
    return len(settled)


def tell(publisher: Publisher, answer: Message) -> None:
    """The last event, as the saved row tells it; waits up to a second until it is out."""
    from synth.api import endings  # the serializers of the API, so that both say the same

    try:
        name, data = endings.of_row(answer)
        del data["message_id"]
        if name == events.END:
            publisher.end(**data)
        else:
            publisher.error(data["code"], data["message"], answer.metadata.get("retry_after_s"))
    except Exception:  # noqa: BLE001 - the answer is saved; viewers read the row
        log.exception("end_not_told", answer=answer.pk)


def _settle(row: Message, status: str, reason: str) -> bool:
    """Move a row that nobody works on any more."""
    same = Message.objects.filter(
        pk=row.pk, attempt=row.attempt, status=MessageStatus.STREAMING, lease_until=row.lease_until
    )
    kept = {name: value for name, value in row.metadata.items() if name != "n_events"}
    metadata = {**kept, **_done_by(row), "reason": reason}
    if not same.update(status=status, metadata=metadata, attempt=F("attempt") + 1, lease_until=None):
        return False
    approvals.withdraw(row)
    TurnState.objects.filter(pk=row.pk).delete()
    return True


def _done_by(row: Message) -> dict[str, Any]:
    """What the turn had done, if it was laid aside before."""
    loop = TurnState.objects.filter(pk=row.pk).values_list("loop", flat=True).first() or {}
    return {name: loop[name] for name in ("n_calls", "usage", "tool_nodes") if loop.get(name)}


def _move(answer: Message, **changes: Any) -> None:
    leases.guarded(answer, was={"status": MessageStatus.STREAMING}, lease_until=None, **changes)
    if answer.status != MessageStatus.COMPLETE:
        approvals.withdraw(answer)
    TurnState.objects.filter(pk=answer.pk).delete()


def _tell_late(answer_id: int) -> None:
    """The end of an answer whose own process does not tell it."""
    row = Message.objects.select_related("author").filter(pk=answer_id).first()
    if row is not None:
        tell(Publisher(answer_id, n=None), row)
