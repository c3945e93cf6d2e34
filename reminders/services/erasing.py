"""Erases what reminders keep of a person or an agent: deliveries, and copies of words in those of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db.models import Q

from reminders.models import Delivery, DeliveryStatus, InboxCounter
from reminders.services import cards
from synth.selectors import dialogue_by_id

if TYPE_CHECKING:
    from synth.services.erase import Erasure
    from synth.services.traces import Traces

REMOVED = "[removed]"
TEXTS = ("title", "body", "metadata", "results")


def erase(erasure: Erasure) -> dict[str, int]:
    """Rows by table. A person's own deliveries go, and of erased dialogues the cards and the words of what
    was placed in them; in all others strings that hold a trace are replaced.
    """
    n_gone = 0
    if erasure.person is not None:
        n_gone = Delivery.objects.filter(person=erasure.person).delete()[0]
        InboxCounter.objects.filter(person=erasure.person).delete()
    n_gone += cards.erase(erasure.sessions) + _placed_in(erasure.sessions)
    return {"reminders.Delivery": n_gone + scrub(erasure.traces)}


def _placed_in(sessions: Iterable[str]) -> int:
    """Take the words from what became messages of dialogues that go, and keep that it was sent; how many.

    What still waits finds its dialogue gone, and then ends as failed.
    """
    n_changed = 0
    for session in sessions:
        kind, _, dialogue_id = session.partition(":")
        dialogue = dialogue_by_id(dialogue_id) if kind == "dialogue" else None
        if dialogue is not None:
            path = f"dialogue/{dialogue.pk}"
            here = Q(interface_path=path) | Q(interface_path__startswith=f"{path}/")
            rows = Delivery.objects.filter(here, person=dialogue.person_id, channel="dialogue")
            for row in rows.exclude(status=DeliveryStatus.QUEUED).exclude(title=REMOVED):
                numbers = {name: value for name, value in row.metadata.items() if isinstance(value, int)}
                n_changed += Delivery.objects.filter(pk=row.pk).update(
                    title=REMOVED, body="", metadata=numbers, results=[]
                )
    return n_changed


def scrub(traces: Traces) -> int:
    """Replace strings that hold a trace; what was sent to an address that names somebody goes. How many rows.

    A higher app calls it again when it has added traces of its own.
    """
    n_changed = 0
    names = ("pk", "person_id", "interface_path", *TEXTS)
    for row in Delivery.objects.only(*names).iterator(chunk_size=500) if traces else ():
        if row.person_id is None and traces.are_in(row.interface_path):
            n_changed += Delivery.objects.filter(pk=row.pk).delete()[0]
            continue
        old = {name: getattr(row, name) for name in TEXTS}
        new = {name: traces.scrub(value, REMOVED) for name, value in old.items()}
        if new != old:
            n_changed += Delivery.objects.filter(pk=row.pk).update(**new)
    return n_changed
