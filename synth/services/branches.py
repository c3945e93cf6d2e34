"""Reads one branch of a dialogue's tree from its end upwards, and stops where the budget is used up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from synth.errors import NotFound
from synth.models import Dialogue, Message
from synth.services import dialogues

_UP = """
WITH RECURSIVE up AS (
    SELECT id, parent_id, length(content)::bigint AS own, length(content)::bigint AS chars, 0 AS n
    FROM synth_message WHERE id = %s
    UNION ALL
    SELECT m.id, m.parent_id, length(m.content)::bigint, up.chars + length(m.content), up.n + 1
    FROM synth_message m JOIN up ON m.id = up.parent_id
)
SELECT {columns}, (SELECT count(*) FROM up) AS n_all
FROM up JOIN synth_message m ON m.id = up.id WHERE chars - own <= %s ORDER BY n DESC
"""
_ROWS_UP = _UP.format(columns="m.*")
_TOLD_UP = _UP.format(columns="m.role, m.status, m.content, m.metadata")

_DOWN_TO = """
WITH RECURSIVE up AS (
    SELECT id, parent_id, 0 AS n FROM synth_message WHERE id = %s
    UNION ALL
    SELECT m.id, m.parent_id, up.n + 1 FROM synth_message m JOIN up ON m.id = up.parent_id WHERE m.id <> %s
)
SELECT m.* FROM up JOIN synth_message m ON m.id = up.id ORDER BY n DESC
"""

# Only an end of a branch: the results of an answer's actions stand above it and are younger than its place.
_NEWEST_BELOW = """
WITH RECURSIVE below AS (
    SELECT id FROM synth_message WHERE id = %s
    UNION ALL
    SELECT m.id FROM synth_message m JOIN below ON m.parent_id = below.id
)
SELECT max(id) FROM below
WHERE NOT EXISTS (SELECT FROM synth_message child WHERE child.parent_id = below.id)
"""


def above(message: Message, budget_chars: int) -> tuple[list[Message], int]:
    """The messages above one, root first, that a budget of characters reaches; how many older there are."""
    if message.parent_id is None:
        return [], 0
    rows = list(Message.objects.raw(_ROWS_UP, [message.parent_id, budget_chars]))
    n_all: int = getattr(rows[0], "n_all", 0) if rows else 0
    return rows, n_all - len(rows)


@dataclass
class Told:
    """What a model is shown of a message."""

    role: str
    status: str
    content: str
    metadata: Any


def told_above(message: Message, budget_chars: int) -> tuple[list[Told], int]:
    """As `above`, without making whole rows of it: a person waits, and each costs as much as reading it."""
    if message.parent_id is None:
        return [], 0
    with connection.cursor() as cursor:
        cursor.execute(_TOLD_UP, [message.parent_id, budget_chars])
        rows = cursor.fetchall()
    nodes = [Told(role, status, content, json.loads(metadata)) for role, status, content, metadata, _ in rows]
    return nodes, (rows[0][-1] - len(rows) if rows else 0)


def between(top: Message, end: Message) -> list[Message]:
    """The messages below `top` down to `end`, in order; none when they are the same."""
    if top.pk == end.pk:
        return []
    return list(Message.objects.raw(_DOWN_TO, [end.pk, top.pk]))


def actions_of(answer: Message) -> list[Message]:
    """The result lines of one answer, in order."""
    ids = answer.metadata.get("tool_nodes") if isinstance(answer.metadata, dict) else None
    rows = Message.objects.filter(dialogue_id=answer.dialogue_id, role="tool").in_bulk(list(ids or []))
    return [rows[pk] for pk in sorted(rows)]


def show(dialogue: Dialogue, message: Message) -> None:
    """Make the newest branch through a message the one that is shown. Conflict while an answer is written."""
    with transaction.atomic():
        row = dialogues.lock(dialogue.pk)
        dialogues.refuse_running(row)
        with connection.cursor() as cursor:
            cursor.execute(_NEWEST_BELOW, [message.pk])
            (leaf_id,) = cursor.fetchone()
        if leaf_id is None:
            raise NotFound("There is no such message here.", code="message_not_found")
        row.active_leaf_id = leaf_id
        row.save(update_fields=["active_leaf"])
