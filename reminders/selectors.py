"""Reads of deliveries used twice or more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import QuerySet

from reminders.models import Delivery, DeliveryStatus

if TYPE_CHECKING:
    from synth.models import Person


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
