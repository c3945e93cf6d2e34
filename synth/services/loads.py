"""Says no before anything is saved, when more answers wait or run than can be served."""

from __future__ import annotations

from django.db.models import Count, Q

from synth import options
from synth.errors import TooMany, Unavailable
from synth.models import Message, MessageStatus, Person

FULL_RETRY_S, PERSON_RETRY_S = 10, 5


def refuse_full(person: Person) -> None:
    """Unavailable `chat_full` when CHAT_QUEUE answers wait for a worker; TooMany `too_many_turns` for a
    person with CHAT_PER_PERSON answers on their way. Both say when to try again.
    """
    waiting = Count("pk", filter=Q(lease_until=None, approvals=None), distinct=True)
    own = Count("pk", filter=Q(dialogue__person=person), distinct=True)
    found = Message.objects.filter(status=MessageStatus.STREAMING).aggregate(waiting=waiting, own=own)
    if found["own"] >= options.read("CHAT_PER_PERSON"):
        raise TooMany(
            "Too many answers are being written for this person.",
            code="too_many_turns",
            retry_after_s=PERSON_RETRY_S,
            n_running=found["own"],
        )
    if found["waiting"] >= options.read("CHAT_QUEUE"):
        raise Unavailable("Too many answers are waiting.", code="chat_full", retry_after_s=FULL_RETRY_S)
