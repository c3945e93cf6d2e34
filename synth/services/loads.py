"""Says no before anything is saved, when more answers wait or run than can be served."""

from __future__ import annotations

from django.db import connection

from synth import options
from synth.errors import TooMany, Unavailable
from synth.models import Person

FULL_RETRY_S, PERSON_RETRY_S = 10, 5
# In SQL, because a person waits: through the models it takes a millisecond to write down.
_COUNTS = """
SELECT count(*) FILTER (WHERE m.lease_until IS NULL
           AND NOT EXISTS (SELECT FROM synth_approval a WHERE a.answer_id = m.id)),
       count(*) FILTER (WHERE d.person_id = %s AND NOT (m.lease_until IS NULL
           AND EXISTS (SELECT FROM synth_approval a WHERE a.answer_id = m.id AND a.status = 'pending')))
FROM synth_message m JOIN synth_dialogue d ON d.id = m.dialogue_id WHERE m.status = 'streaming'
"""


def refuse_full(person: Person) -> None:
    """Unavailable `chat_full` when CHAT_QUEUE answers wait for a worker; TooMany `too_many_turns` for a
    person with CHAT_PER_PERSON answers on their way, those that wait for a word of theirs not counted. Both
    say when to try again.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [person.pk])
        n_waiting, n_own = cursor.fetchone()
    if n_own >= options.read("CHAT_PER_PERSON"):
        raise TooMany(
            "Too many answers are being written for this person.",
            code="too_many_turns",
            retry_after_s=PERSON_RETRY_S,
            n_running=n_own,
        )
    if n_waiting >= options.read("CHAT_QUEUE"):
        raise Unavailable("Too many answers are waiting.", code="chat_full", retry_after_s=FULL_RETRY_S)
