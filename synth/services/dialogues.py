"""Dialogues: begun, named, put away, deleted with a receipt; messages that answer no question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection, transaction
from django.utils.timezone import now

from synth import faults
from synth.errors import Conflict
from synth.models import (
    Agent,
    Approval,
    ApprovalStatus,
    Dialogue,
    Message,
    MessageRole,
    MessageStatus,
    Person,
    ToolkitOrigin,
)
from synth.net.prepared import Prepared
from synth.openai.frontends import title_of
from synth.services import audit, cards, fields, forget
from synth.services.deadlocks import repeated

if TYPE_CHECKING:
    from synth.services.erase import Erasure

MAX_TITLE_CHARS = 200
MAX_CONTENT_CHARS = 32_000
DELETE = "dialogue_delete"
faults.declare("dialogues.create.before", "a dialogue and its greeting are written, the transaction is open")
faults.declare(
    "dialogues.delete.before", "a dialogue and its prompts are gone, the transaction is still open"
)


def session(dialogue: Dialogue) -> str:
    """What binds language model calls and judgments to a dialogue."""
    return f"dialogue:{dialogue.pk}"


def create(
    agent: Agent,
    person: Person,
    *,
    title: str = "",
    scratch: bool = False,
    metadata: Mapping[str, Any] | None = None,
    toolkit: str = "default",
    toolkit_origin: str = ToolkitOrigin.DEFAULT,
    greets: bool = True,
) -> Dialogue:
    """Begin a dialogue; an agent that came with a character card says its first greeting, if it `greets`.

    Conflict `agent_archived`; Invalid for a title that is too long. Whether the agent is open to the person
    is the caller's question (`selectors.agents_seen`).
    """
    refuse_archived(agent)
    with transaction.atomic():
        row = Dialogue.objects.create(
            agent=agent, person=person, title=_title(title), is_scratch=scratch,
            metadata=dict(metadata or {}), toolkit=toolkit, toolkit_origin=toolkit_origin,
        )  # fmt: skip
        if greets:
            _greet(row)
        faults.point("dialogues.create.before")
    return row


def _greet(row: Dialogue) -> None:
    """The first greeting of the agent's card; `alternates` says how many others the card has."""
    person = row.person
    texts = cards.greetings(row.agent, person.get_full_name() or person.username)
    found = [text for text in (raw.replace("\x00", "")[:MAX_CONTENT_CHARS].strip() for raw in texts) if text]
    if found:
        row.active_leaf = Message.objects.create(
            dialogue=row,
            role=MessageRole.PROACTIVE,
            content=found[0],
            metadata={"kind": "greeting", "alternates": len(found) - 1},
        )
        row.save(update_fields=["active_leaf"])


def rename(dialogue: Dialogue, title: str) -> Dialogue:
    """Give a title; a blank one takes it away, and no other comes in its place."""
    dialogue.title = _title(title)
    dialogue.save(update_fields=["title"])
    return dialogue


def name_by(row: Dialogue, said: Message) -> None:
    """An untitled dialogue is named by what its person said first; part of the transaction that saves it."""
    if row.title:
        return
    earlier = Message.objects.filter(dialogue=row, role=MessageRole.USER).exclude(pk=said.pk)
    if not earlier.exists():
        row.title = title_by_rule(said.content)
        row.save(update_fields=["title"])


def title_by_rule(words: str) -> str:
    """A title from what somebody said; blank for words without any."""
    return " ".join(title_of(words).split())[:MAX_TITLE_CHARS] if words.strip() else ""


def archive(dialogue: Dialogue) -> Dialogue:
    """Put a dialogue away; what is said in it brings it back. Safe to repeat.

    Conflict `turn_running` while an answer is on its way, `approval_open` while a question is.
    """
    with transaction.atomic():
        row = lock(dialogue.pk)
        refuse_running(row)
        if row.archived_at is None:
            row.archived_at = now()
            row.save(update_fields=["archived_at"])
    return row


def unarchive(dialogue: Dialogue) -> Dialogue:
    """Bring a dialogue back; retention counts from now. Safe to repeat."""
    with transaction.atomic():
        row = lock(dialogue.pk)
        if row.archived_at is not None:
            row.archived_at, row.unarchived_at = None, now()
            row.save(update_fields=["archived_at", "unarchived_at"])
    return row


@repeated
def delete(dialogue: Dialogue, *, by: Person | None = None, door: str = "rest") -> dict[str, int]:
    """Delete a dialogue and every trace of it: the receipt, rows by table.

    Messages, questions and grants, the text of its prompts and replies, judgment runs, cards, and the diary
    entries that sum up its sittings. Conflict `turn_running` or `approval_open` while an answer is on its
    way, `dialogue_gone` when somebody was faster.
    """
    from synth.services import dialogue_deletion

    who = by or dialogue.person
    with audit.refusals(who, door=door, action=DELETE, object=dialogue, agent=dialogue.agent):
        with transaction.atomic():
            row = lock(dialogue.pk)
            refuse_running(row)
            counts = dialogue_deletion.remove(row, keeps_diary=False)
            note_deleted(row, who, door, counts)
            faults.point("dialogues.delete.before")
    return counts


def note_deleted(row: Dialogue, who: Person | str, door: str, counts: Mapping[str, int]) -> None:
    """The audit entry of a deletion, with its receipt."""
    audit.record(
        who, door=door, action=DELETE, object=f"synth.dialogue:{row.pk}", agent=row.agent,
        after={"removed": dict(counts)},
    )  # fmt: skip


def erase_of(erasure: Erasure) -> dict[str, int]:
    """Part of erasing a person: forget what was sent and answered in their dialogues, then delete these."""
    if erasure.person is None:
        return {}
    from synth.services import dialogue_deletion

    rows = list(Dialogue.objects.select_for_update().filter(person=erasure.person))
    counts: Counter[str] = Counter(forget.forget_sessions([session(row) for row in rows]))
    counts.update(dialogue_deletion.forget_around(rows))
    counts.update(Dialogue.objects.filter(person=erasure.person).delete()[1])
    return {table: n for table, n in sorted(counts.items()) if n}


def attach_proactive_node(
    dialogue: Dialogue, content: str, metadata: Mapping[str, Any] | None = None, dedupe: str = ""
) -> Message:
    """Add a message of the agent that answers no question, at the end of the active branch.

    With `dedupe` (at most 200 characters) the same key gives the same message, however often it is sent. Part
    of the caller's transaction, if there is one. Brings an archived dialogue back. Conflict `dialogue_gone`.
    """
    fields.text(content, "content", max_chars=MAX_CONTENT_CHARS, is_blank_allowed=False)
    key = f"node:{fields.text(dedupe, 'dedupe', max_chars=200)}" if dedupe else ""
    with transaction.atomic():
        row = lock(dialogue.pk)
        if key and (earlier := Message.objects.filter(dialogue=row, dedupe_key=key).first()):
            return earlier
        node = Message.objects.create(
            dialogue=row,
            parent_id=row.active_leaf_id,
            role=MessageRole.PROACTIVE,
            content=content,
            metadata=dict(metadata or {}),
            dedupe_key=key,
        )
        touch(row, leaf=node)
    return node


def settle_crashed(at: datetime, dialogue: Dialogue | None = None) -> int:
    """Mark answers whose process went silent (lease over at `at`) as failed, `crashed`; how many."""
    from synth.services import turn_ends

    return turn_ends.settle_crashed(at, dialogue)


# Prepared, because a person waits.
_LOCKED = Prepared(
    lambda key: (
        Dialogue.objects.select_for_update(of=("self",)).select_related("agent", "person").filter(pk=key)
    ),
    key=UUID,
)
_STREAMING = Prepared(
    lambda key: Message.objects.filter(dialogue=key, status=MessageStatus.STREAMING)[:1], key=UUID
)


def lock(dialogue_id: UUID) -> Dialogue:
    """The row, locked until the caller's transaction ends. Conflict `dialogue_gone`."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a lock outside of a transaction holds nothing")
    row = _LOCKED.first(key=dialogue_id)
    if row is None:
        raise Conflict("The dialogue was deleted meanwhile.", code="dialogue_gone")
    return row


def refuse_archived(agent: Agent) -> None:
    """Conflict `agent_archived` for an agent that is put away."""
    if agent.archived_at is not None:
        at = agent.archived_at.isoformat()
        raise Conflict("The agent is archived.", code="agent_archived", archived_at=at)


def refuse_running(dialogue: Dialogue) -> None:
    """Conflict `turn_running`, with who asked and when, while an answer is on its way in this dialogue;
    `approval_open` where it waits for a person's word.
    """
    running = _STREAMING.first(key=dialogue.pk)
    if running is not None and running.lease_until is not None and running.lease_until <= now():
        settle_crashed(now(), dialogue)
        running = _STREAMING.first(key=dialogue.pk)
    if running is not None:
        if question := Approval.objects.filter(answer=running, status=ApprovalStatus.PENDING).first():
            raise Conflict(
                "The agent waits for a person's word on an action.",
                code="approval_open",
                approval_id=str(question.pk),
                since=question.at.isoformat(),
                message_id=running.pk,
            )
        raise Conflict(
            "The agent is still answering in this dialogue.",
            code="turn_running",
            by=dialogue.person.username,
            since=running.at.isoformat(),
            message_id=running.pk,
        )


def touch(dialogue: Dialogue, *, leaf: Message) -> None:
    """Something was said: the branch shown ends at `leaf`, and the dialogue is no longer put away."""
    mark_touched(dialogue, leaf, now())
    dialogue.save(update_fields=["active_leaf", "at", "archived_at", "unarchived_at"])


def mark_touched(dialogue: Dialogue, leaf: Message, at: datetime) -> None:
    """`touch` at that time, for whoever saves the row otherwise."""
    if dialogue.archived_at is not None:
        dialogue.unarchived_at = at
    dialogue.active_leaf, dialogue.at, dialogue.archived_at = leaf, at, None


def _title(title: str) -> str:
    return fields.one_line(title, "title", max_chars=MAX_TITLE_CHARS)
