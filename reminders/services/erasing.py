"""Erases what reminders keep of a person or an agent: deliveries, and copies of words in those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reminders.models import Delivery, InboxCounter

if TYPE_CHECKING:
    from synth.services.erase import Erasure

REMOVED = "[removed]"
TEXTS = ("title", "body", "metadata", "results")


def erase(erasure: Erasure) -> dict[str, int]:
    """Rows by table. A person's own deliveries go; in all others strings that hold a trace are replaced."""
    n_gone = 0
    if erasure.person is not None:
        n_gone = Delivery.objects.filter(person=erasure.person).delete()[0]
        InboxCounter.objects.filter(person=erasure.person).delete()
    n_scrubbed = 0
    for row in Delivery.objects.only("pk", *TEXTS).iterator(chunk_size=500) if erasure.traces else ():
        old = {name: getattr(row, name) for name in TEXTS}
        new = {name: erasure.traces.scrub(value, REMOVED) for name, value in old.items()}
        if new != old:
            Delivery.objects.filter(pk=row.pk).update(**new)
            n_scrubbed += 1
    return {"reminders.Delivery": n_gone + n_scrubbed}
