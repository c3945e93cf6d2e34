"""Takes a dialogue away with every copy of what was said in it, and counts what went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils.timezone import now

from synth import liveness, registries
from synth.chat import events
from synth.chat.publishing import courier
from synth.models import ApprovalGrant, Dialogue, Message, MessageRole
from synth.services import dialogues, forget

_CHUNK = 500
UNKNOWN = "unknown_action"
log = structlog.get_logger(__name__)

# Everything an audit entry can name that goes with dialogues.
_OBJECTS = """
    SELECT 'synth.dialogue:' || id FROM synth_dialogue WHERE id = ANY(%(ids)s)
    UNION ALL SELECT 'synth.message:' || id FROM synth_message WHERE dialogue_id = ANY(%(ids)s)
    UNION ALL SELECT 'synth.approval:' || id FROM synth_approval WHERE dialogue_id = ANY(%(ids)s)
    UNION ALL SELECT 'synth.approvalgrant:' || g.id FROM synth_approvalgrant g
        LEFT JOIN synth_approval a ON a.id = g.approval_id
        WHERE g.dialogue_id = ANY(%(ids)s) OR a.dialogue_id = ANY(%(ids)s)
"""
# What became of a question stays. A model may put any words where the name of an action belongs.
_CLEAR_AUDIT = f"""
    UPDATE synth_auditentry SET before = NULL, reason = '',
        after = NULLIF(jsonb_strip_nulls(jsonb_build_object(
            'status', after->'status', 'decision', after->'decision', 'action', after->'action')), '{{}}'),
        action = CASE WHEN reason = %(unknown)s THEN %(unknown)s ELSE action END
    WHERE object IN ({_OBJECTS}) AND (before IS NOT NULL OR after IS NOT NULL OR reason <> '')
"""  # noqa: S608 - constants
# Answers that name one of the dialogues, one of its questions, or (a stopped one) one of its messages: among
# those of its person and of whoever left an audit entry on it, be it an operator or a trainer.
_FORGET_ANSWERS = f"""
    DELETE FROM synth_idempotentanswer WHERE body IS NOT NULL AND actor_id IN (
        SELECT person_id FROM synth_dialogue WHERE id = ANY(%(ids)s)
        UNION SELECT actor_id FROM synth_auditentry WHERE object IN ({_OBJECTS})
    ) AND (
        body::text LIKE ANY(ARRAY(
            SELECT '%%' || id || '%%' FROM synth_dialogue WHERE id = ANY(%(ids)s)
            UNION ALL SELECT '%%' || id || '%%' FROM synth_approval WHERE dialogue_id = ANY(%(ids)s)
        )) OR body->'message'->>'id' IN (
            SELECT id::text FROM synth_message WHERE dialogue_id = ANY(%(ids)s)
        )
    )
"""  # noqa: S608 - constants


def remove(row: Dialogue, *, keeps_diary: bool) -> dict[str, int]:
    """Delete a locked dialogue in which nothing runs, in the caller's transaction; rows by table.

    `keeps_diary`: the agent keeps what it wrote into its diary, and the person what they allowed for always,
    as when time alone takes the dialogue. Otherwise both go too.
    """
    from synth.services import sittings

    counts: Counter[str] = Counter(forget.forget_sessions([dialogues.session(row)]))
    if not keeps_diary:
        counts.update(sittings.forget_of([row]))
    counts.update(_of_apps(row))
    counts.update(forget_around([row]))
    if not keeps_diary:
        counts.update(ApprovalGrant.objects.filter(approval__dialogue=row).delete()[1])
    counts.update(Dialogue.objects.filter(pk=row.pk).delete()[1])
    return {table: n for table, n in sorted(counts.items()) if n}


def _of_apps(row: Dialogue) -> Counter[str]:
    """What other apps keep of the dialogue goes with it."""
    from synth.services.erase import Erasure
    from synth.services.traces import Traces

    erasure = Erasure(None, None, Traces(), now(), (dialogues.session(row),))
    counts: Counter[str] = Counter()
    for _, eraser in registries.erasers.items():
        counts.update(eraser(erasure))
    return counts


def forget_around(rows: Sequence[Dialogue]) -> dict[str, int]:
    """Forget copies of what was said that no foreign key reaches; in the transaction that deletes the rows.

    Audit entries keep who did what, without its words. Kept answers to repeated requests go, and with the
    commit what Redis holds of the answers.
    """
    ids = [row.pk for row in rows]
    if not ids:
        return {}
    counts = {"synth.AuditEntry": _clear_audit(ids), "synth.IdempotentAnswer": _forget_answers(ids)}
    written = Message.objects.filter(dialogue__in=ids, role=MessageRole.ASSISTANT)
    answers = list(written.values_list("pk", flat=True))
    transaction.on_commit(lambda: forget_streams(answers), robust=True)
    return counts


def _clear_audit(ids: list[UUID]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_CLEAR_AUDIT, {"ids": ids, "unknown": UNKNOWN})
        return int(cursor.rowcount)


def _forget_answers(ids: list[UUID]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_ANSWERS, {"ids": ids})
        return int(cursor.rowcount)


def forget_streams(answer_ids: Sequence[int]) -> None:
    """Delete what Redis holds of these answers; without Redis it runs out by itself."""
    try:
        for at in range(0, len(answer_ids), _CHUNK):
            keys: list[Any] = []
            for pk in answer_ids[at : at + _CHUNK]:
                keys += [events.stream_key(pk), events.viewers_key(pk)]
            liveness.client().unlink(*keys)
    except Exception as error:  # noqa: BLE001 - the rows are gone; the copies run out within minutes
        log.warning("streams_not_forgotten", error=f"{type(error).__name__}: {error}")


def forget_if_gone(dialogue: Dialogue, answer_id: int | None = None) -> None:
    """Forget what was written in the name of a dialogue that was deleted meanwhile, and what this process
    told the viewers of its answer.

    The lock waits for a deletion under way, which may have looked before we wrote.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT FROM synth_dialogue WHERE id = %s FOR KEY SHARE", [dialogue.pk])
            if cursor.rowcount:
                return
        forget.forget_sessions([dialogues.session(dialogue)])
        _of_apps(dialogue)
    if answer_id is not None:
        courier().flush()  # what is still on its way would stand there again
        forget_streams([answer_id])
