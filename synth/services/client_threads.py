"""Where the history that an outside client sends belongs: a dialogue here, or a new one.

Such clients keep the talk themselves and send all of it each time. What was said is found again by the hash
of the messages up to it; the answer the client then has is found by its words. Where nothing is found, or the
dialogue is busy, the client's history begins a new dialogue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.timezone import now

from synth import actions
from synth.chat import history
from synth.errors import Conflict
from synth.models import Agent, ClientThread, Dialogue, Message, MessageRole, Person
from synth.openai import body
from synth.openai.body import Asked, Sent, Split
from synth.openai.chunks import BETWEEN, without_notices
from synth.schemas import Caller
from synth.services import dialogues, turns
from synth.services.turns import Opened, Place

DOOR = "openai"
MAX_TRIES = 50  # answers of one message that are looked at
MAX_ALIKE = 16  # talks with the same words so far that are told apart by their answers

# However long the talk went on: what stands below other words of the person answers these.
_ANSWERS = """
WITH RECURSIVE below AS (
    SELECT id FROM synth_message WHERE parent_id = %(said)s AND role <> 'user'
    UNION ALL
    SELECT m.id FROM synth_message m JOIN below ON m.parent_id = below.id WHERE m.role <> 'user'
)
SELECT m.* FROM below JOIN synth_message m ON m.id = below.id
WHERE m.role = 'assistant' AND m.status IN ('complete', 'cancelled') ORDER BY m.id DESC LIMIT %(limit)s
"""


def begin(caller: Caller, agent: Agent, asked: Asked) -> Opened:
    """Save what the client says anew, in the dialogue its history belongs to, and the place of the answer.

    One transaction. Errors as `turns.begin`; a dialogue that is busy is no error, a new one begins.
    BadRequest for results of nothing but the agent's own actions.
    """
    asked = _believed(asked)
    parts = body.split(asked.messages)
    with transaction.atomic():
        spot = _found(caller, agent, parts)
        if spot is not None:
            try:
                with transaction.atomic():
                    if spot[1]._state.adding:
                        dialogues.lock(spot[0].pk)
                        spot[1].save()
                    return _say(caller, spot[0], spot[1], asked, parts)
            except Conflict as error:
                if error.code not in ("turn_running", "approval_open", "dialogue_gone"):
                    raise
        dialogue = dialogues.create(
            agent, caller.person, title=_title(asked), metadata={"door": DOOR}, greets=False
        )
        told = [*parts.before, *([parts.answer] if parts.answer else [])]
        return _say(caller, dialogue, _copied(dialogue, caller.person, told), asked, parts)


def _believed(asked: Asked) -> Asked:
    """The request without actions of agents in its history: what they did stands here, whoever tells it anew.

    Clients never get such calls to do, so these are made up.
    """
    ours = {action.name for action in actions.registered()}
    messages = body.without_calls_of(asked.messages, ours)
    if not messages or messages[-1].role not in ("user", "tool"):
        raise body.BadRequest("Actions of the agent's own have no results from outside.", "messages")
    return replace(asked, messages=messages)


def _title(asked: Asked) -> str:
    """By what the person said first, which here may be part of the history."""
    said = (m.text for m in asked.messages if m.role == "user" and m.text.strip())
    return dialogues.title_by_rule(next(said, ""))


def _found(caller: Caller, agent: Agent, parts: Split) -> tuple[Dialogue, Message] | None:
    """The dialogue and the answer in it that the client goes on from; a made-up answer is not saved yet."""
    if parts.answer is None:
        return None
    rows = list(
        _threads(caller, agent, body.prefix_sha256(parts.before)).select_related("dialogue__agent", "leaf")
    )
    for row in rows:
        if (answer := _answer(row.leaf, parts.answer)) is not None:
            return row.dialogue, answer
    if not rows:
        return None
    # The client put words into the agent's mouth; they stand beside what it really said.
    return rows[0].dialogue, _node(rows[0].dialogue, rows[0].leaf, caller.person, parts.answer)


def _threads(caller: Caller, agent: Agent, prefix: str) -> QuerySet[ClientThread]:
    """Where talks with these words so far are kept, the newest first."""
    held = ClientThread.objects.filter(key=caller.key, person=caller.person, agent=agent)
    return held.filter(prefix_sha256__in=_places(prefix)).order_by("-at", "-pk")


def _places(prefix: str) -> list[str]:
    """The names under which talks that begin alike are kept: many begin with the same greeting."""
    return [prefix, *(hashlib.sha256(f"{prefix} {n}".encode()).hexdigest() for n in range(1, MAX_ALIKE))]


def _answer(said: Message, given: Sent) -> Message | None:
    """The saved answer to `said` with the words, or the calls, that the client has."""
    words = without_notices(given.text)
    for row in Message.objects.raw(_ANSWERS, {"said": said.pk, "limit": MAX_TRIES}):
        texts = _texts(row, said)
        if texts is None:
            continue
        if given.calls and [c.id for c in given.calls] == [c.get("id") for c in _calls(row)]:
            return row
        if not given.calls and words in map(without_notices, (row.content, BETWEEN.join(texts))):
            return row
    return None


def _texts(answer: Message, said: Message) -> list[str] | None:
    """The words of a turn's rounds, in order; None where the answer is not one to `said`."""
    texts: list[str] = []
    row: Message | None = answer
    while row is not None and row.pk != said.pk:
        if row.role == MessageRole.USER:
            return None
        if row.role == MessageRole.ASSISTANT and row.content.strip():
            texts.insert(0, row.content)
        row = row.parent
    return None if row is None else texts


def _calls(row: Message) -> list[dict[str, Any]]:
    calls = row.metadata.get("client_calls")
    return calls if isinstance(calls, list) else []


def _say(caller: Caller, dialogue: Dialogue, parent: Message | None, asked: Asked, parts: Split) -> Opened:
    terms: dict[str, Any] = {"caller": caller, "door": DOOR, "client": asked.client}
    if (again := _same(dialogue, parent, parts)) is not None:
        opened = turns.begin_retake(dialogue, caller.person, again, **terms)
    else:
        results = [(m.call_id, m.text) for m in parts.new if m.role == "tool"]
        words = "\n\n".join(m.text for m in parts.new if m.role == "user")
        place = Place(parent, at_root=parent is None)
        opened = turns.begin(dialogue, caller.person, words, place, results=results, **terms)
    _remember(caller, dialogue, asked.messages, opened.said)
    return opened


def _same(dialogue: Dialogue, parent: Message | None, parts: Split) -> Message | None:
    """What was said here before in the same words: it is answered anew, not said twice."""
    if parent is None or [m.role for m in parts.new] != ["user"]:
        return None
    said = Message.objects.filter(dialogue=dialogue, parent=parent, role=MessageRole.USER)
    return said.filter(content=parts.new[0].text).order_by("-pk").first()


def _remember(caller: Caller, dialogue: Dialogue, messages: Sequence[Sent], said: Message) -> None:
    """Keep the talk in its own place, else in a free one, else in that of the one unused for longest."""
    prefix = body.prefix_sha256(messages)
    rows = list(_threads(caller, dialogue.agent, prefix))
    taken = {row.prefix_sha256 for row in rows}
    own = next((row.prefix_sha256 for row in rows if row.dialogue_id == dialogue.pk), None)
    free = next((place for place in _places(prefix) if place not in taken), None)
    ClientThread.objects.update_or_create(
        key=caller.key,
        person=caller.person,
        agent_id=dialogue.agent_id,
        prefix_sha256=own or free or rows[-1].prefix_sha256,
        defaults={"dialogue": dialogue, "leaf": said, "at": now()},
    )


def _copied(dialogue: Dialogue, person: Person, told: Sequence[Sent]) -> Message | None:
    """The client's history as a branch of a new dialogue; its last message."""
    rows = [_node(dialogue, None, person, sent) for sent in told if sent.text.strip() or sent.calls]
    saved = Message.objects.bulk_create(rows)
    for parent, row in zip(saved, saved[1:], strict=False):
        row.parent = parent
    Message.objects.bulk_update(saved[1:], ["parent"], batch_size=500)
    return saved[-1] if saved else None


def _node(dialogue: Dialogue, parent: Message | None, person: Person, sent: Sent) -> Message:
    metadata: dict[str, Any] = dict(history.FROM_CLIENT)
    if sent.calls:
        metadata |= {"tool_calls": [call.as_json() for call in sent.calls], "via": "tools"}
    if sent.role == "tool":
        metadata |= {"call_id": sent.call_id, "is_ok": True, "code": "", "is_clients": True}
    return Message(
        dialogue=dialogue,
        parent=parent,
        role=MessageRole(sent.role),
        author=person if sent.role == "user" else None,
        content=sent.text,
        metadata=metadata,
    )
