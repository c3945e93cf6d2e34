"""What rows say of answers that are being watched, read for all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils.timezone import now

from synth.chat import events
from synth.chat.events import Event
from synth.models import Approval, ApprovalStatus, Message, MessageStatus
from synth.services import dialogues

QUEUED_S = 5.0  # a turn that waits longer is rung for again
LAST_N = events.ANSWER - 1  # of an end that only the row tells


@dataclass(frozen=True)
class Look:
    """How an answer's row stands: `is_streaming`, `is_silent` (its lease ran out), `is_waiting` (unclaimed
    for too long), `is_asked` (a person's approval is open).
    """

    is_streaming: bool
    is_silent: bool = False
    is_waiting: bool = False
    is_asked: bool = False


def look(ids: Iterable[int], at: datetime | None = None) -> dict[int, Look]:
    """By answer; one that is missing was deleted. One query."""
    at = at or now()
    pending = Approval.objects.filter(answer=OuterRef("pk"), status=ApprovalStatus.PENDING)
    rows = Message.objects.filter(pk__in=list(ids)).annotate(is_asked=Exists(pending))
    found = rows.values_list("pk", "status", "lease_until", "due_at", "is_asked")
    return {row[0]: _look(at, *row[1:]) for row in found}


def _look(at: datetime, status: str, lease_until: datetime | None, due_at: datetime, is_asked: bool) -> Look:
    if status != MessageStatus.STREAMING:
        return Look(is_streaming=False)
    is_late = due_at < at - timedelta(seconds=QUEUED_S)
    return Look(
        is_streaming=True,
        is_silent=lease_until is not None and lease_until <= at,
        is_waiting=lease_until is None and is_late and not is_asked,
        is_asked=is_asked,
    )


def settle() -> None:
    """Fail the answers whose process went silent."""
    dialogues.settle_crashed(now())


@dataclass(frozen=True)
class Words:
    """What an answer's row holds so far. `n` is the event it is up to: None where that is not known."""

    content: str
    is_over: bool
    n: int | None


def words(answer_id: int) -> Words | None:
    """None for an answer that was deleted."""
    row = Message.objects.filter(pk=answer_id).only("content", "status", "metadata").first()
    if row is None:
        return None
    n = row.metadata.get("n_events") if isinstance(row.metadata, dict) else None
    return Words(row.content, row.status != MessageStatus.STREAMING, n if isinstance(n, int) else None)


def endings(ids: Iterable[int]) -> dict[int, Event]:
    """The last event of each answer as its row tells it; of a deleted one it says so.

    An answer that streams again (nobody moves one so) or still has none.
    """
    asked = list(ids)
    rows = {row.pk: row for row in Message.objects.filter(pk__in=asked).select_related("author")}
    found = {pk: _gone(pk) for pk in asked if pk not in rows}
    for pk, row in rows.items():
        if row.status != MessageStatus.STREAMING:
            found[pk] = _ending(row)
    return found


def _gone(answer_id: int) -> Event:
    data = {
        "code": "dialogue_gone",
        "message": "The dialogue was deleted meanwhile.",
        "message_id": answer_id,
    }
    return Event(LAST_N, events.ERROR, events.encode(data))


def _ending(row: Message) -> Event:
    from synth.api import endings as told  # the serializers; this module is also read without them

    name, data = told.of_row(row)
    return Event(LAST_N, name, events.encode(data))


def resync(answer_id: int, content: str, n: int) -> Event:
    """The event for a viewer who missed what cannot be had any more."""
    data: dict[str, Any] = {"message_id": answer_id, "content": content, "n": n}
    return Event(n, events.RESYNC, events.encode(data))
