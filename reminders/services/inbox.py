"""What a person does with a delivery: sees it, dismisses it, acts on it; once each, by guarded moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.timezone import now

from reminders.models import Delivery, DeliveryStatus
from reminders.services import bells
from reminders.services.dispatch import DELIVER
from synth import background
from synth.errors import Conflict, NotFound
from synth.services import audit

if TYPE_CHECKING:
    from synth.models import Person

S = DeliveryStatus
# Where a delivery may come from on its way to a status.
MOVES: dict[str, tuple[str, ...]] = {
    S.SEEN: (S.SENT,),
    S.DISMISSED: (S.SENT, S.SEEN),
    S.ACTED: (S.SENT, S.SEEN),
}


def move(person: Person, seq: int, status: DeliveryStatus) -> Delivery:
    """Move the person's own delivery. NotFound for a number they do not have.

    Conflict `already_seen`, `already_dismissed` … when it cannot be moved (any more), with `status` and `at`
    in its details. A client shows an item only after its own claim (`seen`) went through.
    """
    mine = Delivery.objects.filter(person_id=person.pk, seq=seq)
    n_moved = mine.filter(status__in=MOVES[status]).update(status=status, moved_at=now())
    row = mine.first()
    if row is None:
        raise NotFound("There is no such delivery.", code="delivery_not_found")
    if n_moved == 0:
        raise Conflict(
            f"This delivery is {row.status} already.",
            code=f"already_{row.status}",
            status=row.status,
            at=row.moved_at.isoformat(),
        )
    bells.moved(row)
    return row


def try_again(delivery_id: int, *, by: Person, door: str = "admin") -> Delivery:
    """Give a failed delivery all its tries again, starting now; Conflict `not_failed` when it is not."""
    at = now()
    with transaction.atomic():
        failed = Delivery.objects.filter(pk=delivery_id, status=S.FAILED)
        n_moved = failed.update(status=S.QUEUED, n_failures=0, due_at=at, moved_at=at, lease_until=None)
        if n_moved == 0:
            raise Conflict("This delivery is not failed any more.", code="not_failed")
        row = Delivery.objects.get(pk=delivery_id)
        before, after = {"status": "failed"}, {"status": "queued"}
        audit.record(by, door=door, action="delivery_retry", object=row, before=before, after=after)
        background.ring(DELIVER, row.channel)
    return row
