"""Reads of deliveries used twice or more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from rest_framework.renderers import JSONRenderer

from reminders.models import Delivery, DeliveryStatus, InboxCounter

if TYPE_CHECKING:
    from synth.models import Person


_AFTER = """
SELECT d.* FROM unnest(%s::bigint[], %s::bigint[]) AS told (person_id, seq)
JOIN reminders_delivery d ON d.person_id = told.person_id AND d.seq > told.seq
ORDER BY d.person_id, d.seq LIMIT %s
"""


def inbox(person: Person, after: int = 0) -> QuerySet[Delivery]:
    """A person's deliveries past the number `after`, oldest first."""
    return Delivery.objects.filter(person_id=person.pk, seq__gt=after).order_by("seq")


def by_key(dedupe_key: str) -> Delivery | None:
    """The delivery sent under that key, or None."""
    return Delivery.objects.filter(dedupe_key=dedupe_key).exclude(dedupe_key="").first()


def by_id(delivery_id: int) -> Delivery | None:
    """The delivery, or None; for handlers of `reminders.delivery_sent` and `reminders.delivery_failed`."""
    return Delivery.objects.filter(pk=delivery_id).first()


def n_failed() -> int:
    """Deliveries that wait for an operator."""
    return Delivery.objects.filter(status=DeliveryStatus.FAILED).count()


def counters(person_ids: Iterable[int]) -> dict[int, int]:
    """The last number of each person's inbox; missing where nothing ever arrived. One query."""
    return dict(InboxCounter.objects.filter(person_id__in=list(person_ids)).values_list("person_id", "seq"))


def first_after(person_id: int, seq: int) -> int | None:
    """The first number past `seq` that is still in the inbox."""
    numbers = Delivery.objects.filter(person_id=person_id, seq__gt=seq).order_by("seq")
    return numbers.values_list("seq", flat=True).first()


def inbox_events(after: Mapping[int, int], limit: int) -> list[tuple[int, int, str]]:
    """(person, number, JSON) of deliveries past the number given for each person, in order. One query."""
    from reminders.api.inbox import DeliveryOut

    found = Delivery.objects.raw(_AFTER, [list(after), list(after.values()), limit]) if after else ()
    render = JSONRenderer().render
    return [(row.person_id or 0, row.seq or 0, render(DeliveryOut(row).data).decode()) for row in found]
