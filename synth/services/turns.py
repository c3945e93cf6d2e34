"""A chat turn: a person says something, the agent answers, all of it in the tree.

`begin` saves the message and a place for the answer and rings; a worker runs the turn (`run`) and tells
viewers what happens. `take` does both at once, for whoever waits for the whole answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.timezone import now

from synth import faults
from synth.chat import doorbell
from synth.errors import Conflict, Invalid, NotFound, Refused
from synth.models import Dialogue, Message, MessageRole, MessageStatus, Person, TurnState
from synth.schemas import Caller
from synth.services import (
    approvals,
    audit,
    dialogues,
    fields,
    loads,
    turn_ends,
    turn_live,
    turn_places,
    turn_run,
)
from synth.services.turn_run import Job, run

__all__ = [
    "Opened", "Place", "begin", "begin_retake", "leave", "request_stop", "resume", "retake", "run",
    "take",
]  # fmt: skip

faults.declare("turns.open.before", "a message and a placeholder are written, the transaction is still open")
faults.declare("turns.open.after", "a message is saved, nobody has answered")


@dataclass(frozen=True)
class Place:
    """Where a message goes: below `parent`, at the root of the tree, or (neither) at the branch shown."""

    parent: Message | None = None
    at_root: bool = False

    def mark(self) -> str:
        """For telling two requests apart."""
        return "root" if self.at_root else str(self.parent.pk) if self.parent else "leaf"


@dataclass(frozen=True)
class Opened:
    """A saved message and the place of its answer. `is_replayed`: both were there before."""

    dialogue: Dialogue
    said: Message
    answer: Message
    is_replayed: bool = False
    state: TurnState | None = None


@dataclass(frozen=True)
class _Terms:
    """How a turn begins: for whom, through which door, and whether it runs right here."""

    person: Person
    caller: Caller | None
    door: str
    client: Mapping[str, Any]
    is_here: bool


def begin(
    dialogue: Dialogue,
    person: Person,
    content: str,
    place: Place | None = None,
    *,
    caller: Caller | None = None,
    key: str = "",
    door: str = "chat",
    client: Mapping[str, Any] | None = None,
    results: Sequence[tuple[str, str]] = (),
) -> Opened:
    """Save what was said and a place for the answer, and wake a worker.

    `caller` narrows the person's rights to those of their key. `key` makes it safe to repeat: the same key
    and request give the same answer, also one that is still being written; after a failure it is tried again.
    `client` as `TurnState.client`. `results` are (call id, text) of what an outside client's own tools said:
    nodes above the message; without words the agent answers them, and openers do not run.

    Conflict `turn_running`, `approval_open`, `agent_archived`; Invalid; Refused; Unavailable `chat_full`;
    TooMany `too_many_turns`: then nothing is saved.
    """
    terms = _Terms(person, caller, door, client or {}, is_here=False)
    return _say(dialogue, content, place or Place(), key, terms, results)


def begin_retake(
    dialogue: Dialogue,
    person: Person,
    message: Message,
    *,
    caller: Caller | None = None,
    door: str = "chat",
    client: Mapping[str, Any] | None = None,
    key: str = "",
) -> Opened:
    """Have an earlier message of a person answered anew; the new answer is a sibling. As `begin`, also the
    `key`.

    Nobody has just said it, so openers do not look at it again.
    """
    terms = _Terms(person, caller, door, client or {}, is_here=False)
    return _again(dialogue, message, terms, key)


def take(
    dialogue: Dialogue,
    person: Person,
    content: str,
    parent: Message | None = None,
    door: str = "chat",
    *,
    at_root: bool = False,
    caller: Caller | None = None,
    key: str = "",
) -> Message:
    """Say `content` below `parent` (default: where the branch shown ends) and give the saved answer.

    As `begin`, but the turn runs in this thread. LlmError as `synth.llm.complete`; its `details` name the
    failed answer. Where a person must be asked for an approval the answer comes back still streaming.
    """
    terms = _Terms(person, caller, door, {}, is_here=True)
    opened = _say(dialogue, content, Place(parent, at_root), key, terms)
    return opened.answer if opened.is_replayed else _run_here(opened, person)


def retake(
    dialogue: Dialogue,
    person: Person,
    message: Message,
    door: str = "chat",
    *,
    caller: Caller | None = None,
    key: str = "",
) -> Message:
    """`begin_retake`, run in this thread. Raises like `take`."""
    opened = _again(dialogue, message, _Terms(person, caller, door, {}, is_here=True), key)
    return opened.answer if opened.is_replayed else _run_here(opened, person)


def request_stop(answer_id: int, reason: str, by: Person | None = None) -> None:
    """Have a turn end for all its viewers; what was said so far is kept as `cancelled`. Safe to repeat.

    `reason`: `stopped` by a person, `left` by every viewer, `client_gone`. Who works on it hears at once, or
    reads it from the row within seconds.
    """
    asked = TurnState.objects.filter(pk=answer_id, stop_requested_at=None)
    is_new = asked.update(stop_requested_at=now(), stop_reason=reason)
    if is_new and by is not None:
        audit.record(by, door="chat", action="turn_stop", object=f"synth.message:{answer_id}", reason=reason)
    if not turn_ends.cancel_waiting(answer_id, reason) and not turn_live.stop(answer_id, reason):
        doorbell.tell_to_stop(answer_id)


def leave(answer_id: int, reason: str) -> None:
    """Every viewer of a turn went: it ends, as by `request_stop`.

    Not one of the chat's own that waits for a person's word: the question lies in their inbox too, and is
    answered wherever they are.
    """
    if reason == "left" and approvals.is_open(answer_id):
        return
    request_stop(answer_id, reason)


def resume(answer_id: int) -> None:
    """Have a turn that was laid aside go on now, because a person has decided."""
    waiting = Message.objects.filter(pk=answer_id, status=MessageStatus.STREAMING, lease_until=None)
    if waiting.update(due_at=now()):
        doorbell.ring(answer_id)


def _run_here(opened: Opened, person: Person) -> Message:
    assert opened.state is not None
    live = turn_live.begin(opened.answer)
    agent = opened.dialogue.agent
    is_trainer = opened.state.may_train and agent.trainers.filter(pk=person.pk).exists()
    try:
        turn_run.work(
            Job(opened.answer, opened.state, opened.said, opened.dialogue, person, is_trainer), live
        )
    finally:
        turn_live.end(live)
    return opened.answer


def _say(
    dialogue: Dialogue,
    content: str,
    place: Place,
    key: str,
    terms: _Terms,
    results: Sequence[tuple[str, str]] = (),
) -> Opened:
    fields.text(content, "content", max_chars=dialogues.MAX_CONTENT_CHARS, is_blank_allowed=bool(results))
    request = hashlib.sha256(f"{place.mark()}\n{content}".encode()).hexdigest() if key else ""
    with transaction.atomic():
        if key and (earlier := _earlier(dialogues.lock(dialogue.pk), key, request, terms)):
            return earlier
        _refuse_full(terms)
        row = _ready(dialogue)
        parent_id = None if place.at_root else row.active_leaf_id
        if place.parent is not None:
            parent_id = _of(row, place.parent).pk
        last = _results(row, parent_id, results)
        if last is not None and not content.strip():
            opened = _placeholder(row, last, terms, is_retake=True)
            faults.point("turns.open.before")
            return opened
        said = Message.objects.create(
            dialogue=row,
            parent_id=parent_id if last is None else last.pk,
            role=MessageRole.USER,
            author=terms.person,
            content=content,
            metadata={"request": request} if key else {},
            dedupe_key=f"post:{key}" if key else "",
        )
        dialogues.name_by(row, said)
        opened = _placeholder(row, said, terms)
        faults.point("turns.open.before")
    faults.point("turns.open.after")
    return opened


def _again(dialogue: Dialogue, message: Message, terms: _Terms, key: str = "") -> Opened:
    with transaction.atomic():
        if key and (earlier := _retaken(dialogues.lock(dialogue.pk), message, key, terms)):
            return earlier
        _refuse_full(terms)
        row = _ready(dialogue)
        said = _of(row, message)
        if said.role != MessageRole.USER:
            raise Invalid("Only what a person said can be answered anew.", field="parent")
        opened = _placeholder(row, said, terms, is_retake=True, key=key)
        faults.point("turns.open.before")
    faults.point("turns.open.after")
    return opened


def _retaken(row: Dialogue, said: Message, key: str, terms: _Terms) -> Opened | None:
    """What this key had answered anew before; one that failed gives the key back for a new try."""
    dialogues.settle_crashed(now(), row)
    answer = Message.objects.filter(dialogue=row, dedupe_key=f"post:{key}").first()
    if answer is None:
        return None
    asked = answer.parent
    while asked is not None and asked.role != MessageRole.USER:
        asked = asked.parent
    if answer.role != MessageRole.ASSISTANT or asked is None or asked.pk != said.pk:
        raise _reused()
    if answer.status in _alive(terms):
        return Opened(row, asked, answer, is_replayed=True)
    Message.objects.filter(pk=answer.pk).update(dedupe_key="")
    return None


def _alive(terms: _Terms) -> tuple[MessageStatus, ...]:
    """What an answer can be for a repeated request to get it; who waits here cannot wait elsewhere."""
    ended = (MessageStatus.COMPLETE, MessageStatus.CANCELLED)
    return ended if terms.is_here else (*ended, MessageStatus.STREAMING)


def _reused() -> Refused:
    return Refused(
        "This key came with another request before.",
        code="idempotency_key_reused",
        field="Idempotency-Key",
    )


def _earlier(row: Dialogue, key: str, request: str, terms: _Terms) -> Opened | None:
    """What this key began before: its answer, or a new try where that failed.

    Whoever waits here for the whole answer gets a Conflict while it is still written elsewhere.
    """
    said = Message.objects.filter(dialogue=row, dedupe_key=f"post:{key}").first()
    if said is None:
        return None
    if said.metadata.get("request") != request:
        raise _reused()
    dialogues.settle_crashed(now(), row)
    answer = Message.objects.filter(dialogue=row, pk=said.metadata.get("answer")).first()
    if answer is not None and answer.status in _alive(terms):
        return Opened(row, said, answer, is_replayed=True)
    _refuse_full(terms)
    _ready(row)
    return _placeholder(row, said, terms, is_retake=bool(said.metadata.get("is_opened")))


def _results(row: Dialogue, parent_id: int | None, results: Sequence[tuple[str, str]]) -> Message | None:
    """What a client's tools said, below what came before it; the last one."""
    last = None
    for call_id, text in results:
        fields.text(text, "content", max_chars=dialogues.MAX_CONTENT_CHARS)
        last = Message.objects.create(
            dialogue=row,
            parent_id=parent_id if last is None else last.pk,
            role=MessageRole.TOOL,
            content=text,
            metadata={"call_id": call_id[:100], "is_ok": True, "code": "", "is_clients": True},
        )
    return last


def _refuse_full(terms: _Terms) -> None:
    if not terms.is_here:
        loads.refuse_full(terms.person)


def _ready(dialogue: Dialogue) -> Dialogue:
    """The locked dialogue, when a turn may begin in it."""
    row = dialogues.lock(dialogue.pk)
    dialogues.refuse_archived(row.agent)
    dialogues.refuse_running(row)
    return row


def _of(row: Dialogue, message: Message) -> Message:
    found = Message.objects.filter(dialogue=row, pk=message.pk).first()
    if found is None:
        raise NotFound("There is no such message here.", code="message_not_found", field="parent")
    if found.status == MessageStatus.STREAMING:
        raise Conflict("This message is still being written.", code="turn_running", message_id=found.pk)
    return found


def _placeholder(
    row: Dialogue, said: Message, terms: _Terms, *, is_retake: bool = False, key: str = ""
) -> Opened:
    """The answer's place: leased where the turn runs at once, else waiting for a worker."""
    caller = terms.caller
    state = TurnState(
        person=terms.person,
        door=terms.door,
        may_train=caller.may_train if caller else True,
        is_operator=caller.is_operator if caller else terms.person.is_operator,
        is_retake=is_retake,
        client=dict(terms.client),
    )
    answer = turn_places.save(row, said, state, key=f"post:{key}" if key else "", is_here=terms.is_here)
    if said.dedupe_key:
        said.metadata = {**said.metadata, "answer": answer.pk}
        said.save(update_fields=["metadata"])
    if not terms.is_here:
        doorbell.ring(answer.pk)
    return Opened(row, said, answer, state=state)
