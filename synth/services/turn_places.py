"""Saves the place of an answer that is to come, in one statement: a person waits for its first word."""

from __future__ import annotations

from datetime import timedelta

from django.db.backends.postgresql.psycopg_any import Jsonb
from django.utils.timezone import now

from synth.models import Dialogue, Message, MessageRole, MessageStatus, TurnState
from synth.rowqueue import leases
from synth.services import dialogues

# The answer, what its turn needs, and the dialogue as `dialogues.touch` leaves it.
_SAVE = """
WITH answer AS (
    INSERT INTO synth_message (dialogue_id, parent_id, role, status, content, metadata, fingerprint,
        dedupe_key, at, due_at, attempt, lease_until)
    VALUES (%(dialogue)s, %(said)s, %(role)s, %(status)s, '', '{}', '', %(key)s, %(at)s, %(at)s,
        %(attempt)s, %(lease_until)s)
    RETURNING *
), turn AS (
    INSERT INTO synth_turnstate (answer_id, person_id, door, may_train, is_operator, is_retake, client, at,
        opener_lines, loop, check_in, stop_reason)
    SELECT id, %(person)s, %(door)s, %(may_train)s, %(is_operator)s, %(is_retake)s, %(client)s, %(at)s,
        '', '{}', '{}', '' FROM answer
), touched AS (
    UPDATE synth_dialogue SET active_leaf_id = answer.id, at = %(at)s, archived_at = NULL,
        unarchived_at = CASE WHEN archived_at IS NULL THEN unarchived_at ELSE %(at)s END
    FROM answer WHERE synth_dialogue.id = answer.dialogue_id
)
SELECT * FROM answer
"""


def save(row: Dialogue, said: Message, state: TurnState, *, key: str, is_here: bool) -> Message:
    """The placeholder of the answer to `said`, leased where the turn runs at once, else waiting for a worker.

    `state` is saved with it, and the locked dialogue ends there from now on; both rows are as saved.
    """
    at = now()
    values = {
        "dialogue": row.pk,
        "said": said.pk,
        "role": MessageRole.ASSISTANT.value,
        "status": MessageStatus.STREAMING.value,
        "key": key,
        "at": at,
        "attempt": int(is_here),
        "lease_until": at + timedelta(seconds=leases.LEASE_S) if is_here else None,
        "person": state.person_id,
        "door": state.door,
        "may_train": state.may_train,
        "is_operator": state.is_operator,
        "is_retake": state.is_retake,
        "client": Jsonb(state.client),
    }
    (answer,) = Message.objects.raw(_SAVE, values)
    answer.dialogue, answer.parent = row, said
    state.answer, state.at, state._state.adding = answer, at, False
    dialogues.mark_touched(row, answer, at)
    return answer
