"""Runs one turn from its claimed row to its end, in any thread: openers, prompt, loop, one last event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.timezone import now

from synth import registries
from synth.actions import Waiting
from synth.errors import Conflict, DomainError
from synth.llm import LlmError
from synth.models import Agent, Dialogue, Message, Person, TurnState
from synth.net.prepared import Prepared
from synth.prompts import Prompt, assemble
from synth.rowqueue import leases
from synth.services import audit, dialogue_deletion, meanings, turn_ends, turn_live
from synth.services.turn_live import Live
from synth.services.turn_loop import Final, Loop, Stopped
from synth.services.turn_request import Builder
from synth.turns import Turn

MAX_OPENER_CHARS = 2_000  # of all openers' lines
RETRY_AFTER_S = 30
INTERRUPTED = "interrupted"
log = structlog.get_logger(__name__)


@dataclass
class Job:
    """A claimed answer, with what its turn begins from. `said` is what it answers."""

    answer: Message
    state: TurnState
    said: Message
    dialogue: Dialogue
    person: Person
    is_trainer: bool


@dataclass
class _Run:
    """A job under way."""

    job: Job
    live: Live
    turn: Turn
    loop: Loop | None = None
    prompt: Prompt | None = None

    def facts(self) -> dict[str, Any]:
        return self.loop.facts() if self.loop is not None else {}


_CLAIM = """
WITH waiting AS MATERIALIZED (
    SELECT id FROM synth_message WHERE status = 'streaming' AND lease_until IS NULL AND due_at <= %(at)s
    ORDER BY due_at, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE synth_message SET attempt = attempt + 1, lease_until = %(until)s
WHERE id IN (SELECT id FROM waiting) RETURNING *
"""


def _state(answer: int) -> QuerySet[TurnState]:
    trainers = Agent.trainers.through.objects.filter(
        agent=OuterRef("answer__dialogue__agent"), person=OuterRef("person")
    )
    rows = TurnState.objects.select_related("person", "answer__dialogue__agent", "answer__parent")
    return rows.annotate(trains=Exists(trainers)).filter(pk=answer)


_STATE = Prepared(_state, answer=int)  # writing it down takes two milliseconds, and a person waits


def claim(at: datetime, limit: int) -> list[Message]:
    """Take up to `limit` answers that wait for a worker, the longest waiting first, as `leases.claim` does.

    A silent worker's rows are not taken: they are settled. One statement, because a person waits.
    """
    until = at + timedelta(seconds=leases.LEASE_S)
    rows = list(Message.objects.raw(_CLAIM, {"at": at, "until": until, "limit": limit}))
    return sorted(rows, key=lambda row: (row.due_at, row.pk))


def run(answer: Message) -> None:
    """Run the turn of a claimed answer to its end, or until a person must decide. Never raises."""
    try:
        live = turn_live.begin(answer, answer.metadata.get("n_events", 0))
        try:
            work(_load(answer), live)
        finally:
            turn_live.end(live)
    except LlmError as error:
        log.info("turn_failed", answer=answer.pk, reason=error.reason)
    except DomainError as error:
        log.warning("turn_failed", answer=answer.pk, reason=error.code)
    except Exception:  # noqa: BLE001 - a turn that breaks must not take its worker with it
        log.exception("turn_broke", answer=answer.pk)
    finally:
        connection.close()


def work(job: Job, live: Live) -> None:
    """The same for whoever waits for it: what broke is saved, told to viewers, and raised.

    LlmError as `synth.llm.complete`; its `details` name the failed answer.
    """
    going = _Run(job, live, _turn(job))
    try:
        with leases.keep(job.answer) as kept:
            found = _think(going, kept)
        _end(going, found)
    except Stopped:
        _end_stopped(going)
    except LlmError as error:
        if error.reason == "stopped":
            _end_stopped(going)
            return
        wait = (
            {"retry_after_s": math.ceil(error.retry_after_s or RETRY_AFTER_S)} if error.status == 503 else {}
        )
        _fail(going, error.reason, error.detail, **wait)
        error.details.update(dialogue=str(job.dialogue.pk), message_id=job.answer.pk)
        raise
    except Exception as error:
        _fail(going, getattr(error, "code", "internal_error"), "")
        raise


def _load(answer: Message) -> Job:
    """What a claimed row belongs to; one query, two for a turn that goes on."""
    state = _STATE.first(answer=answer.pk)
    if state is None:
        raise Conflict("The turn ended meanwhile.", code="lease_lost")
    said = state.answer.parent
    if "said" in state.loop:
        said = Message.objects.get(pk=state.loop["said"])
    if said is None:
        raise Conflict("The message to answer is gone.", code="dialogue_gone")
    answer.dialogue = state.answer.dialogue
    is_trainer = state.may_train and bool(getattr(state, "trains", False))
    return Job(answer, state, said, state.answer.dialogue, state.person, is_trainer)


def _turn(job: Job) -> Turn:
    agent, state = job.dialogue.agent, job.state
    return Turn(
        agent=agent,
        person=job.person,
        dialogue=job.dialogue,
        message=job.said if job.said.role == "user" else None,
        started_at=now(),
        is_trainer=job.is_trainer,
        is_operator=state.is_operator,
        door=state.door,
        is_retake=state.is_retake,
        notes=dict(state.loop.get("notes", {})),
    )


def _think(going: _Run, kept: leases.Kept) -> Final | Waiting:
    job, live, turn = going.job, going.live, going.turn
    if job.state.stop_requested_at is not None:
        live.end(job.state.stop_reason)
        raise Stopped
    said = turn.message.content if turn.message is not None else ""
    meanings.begin(said)  # read while the openers run; the prompt takes it
    is_begun = "n_calls" in job.state.loop
    if not is_begun:
        if not job.state.loop.get("is_told"):
            live.publisher.start(
                dialogue=str(job.dialogue.pk), parent=job.answer.parent_id, agent=turn.agent.slug,
                at=job.answer.at,
            )  # fmt: skip
        _open(going)
    # As of now, not of the turn's start: what an opener decided is already true in it.
    prompt = going.prompt = assemble(turn.agent, "chat", now(), job.person, job.dialogue, said)
    builder = Builder(turn, job.said, prompt, job.state.opener_lines, job.state.client)
    tip = (job.answer.parent if is_begun else None) or job.said
    loop = going.loop = Loop(turn, job.answer, kept, live, builder, tip, builder.tools())
    if is_begun:
        loop.take_up(job.state.loop, job.said)
    return loop.run()


def _open(going: _Run) -> None:
    """What openers make of the message, once; their lines stay with the turn."""
    state = going.job.state
    if not state.is_retake and not state.loop.get("is_opened"):
        state.opener_lines = run_openers(going.turn)
        state.loop = {**state.loop, "is_opened": True, "notes": _notes(going.turn)}
        if state.opener_lines or state.loop["notes"]:
            TurnState.objects.filter(pk=state.pk).update(opener_lines=state.opener_lines, loop=state.loop)


def run_openers(turn: Turn) -> str:
    """The lines of the openers, one each. One that breaks is logged and audited, and the turn goes on."""
    lines: list[str] = []
    for name, opener in registries.turn_openers.items():
        try:
            line = opener(turn)
        except Exception as error:  # noqa: BLE001 - an app's trouble must not keep the agent from answering
            log.exception("turn_opener_failed", opener=name)
            audit.record(
                name, door="chat", action="turn_opener", object=turn.label, agent=turn.agent,
                outcome="failed", reason=type(error).__name__,
            )  # fmt: skip
            continue
        if line and line.strip():
            lines.append(" ".join(line.split()))
    said = turn.message
    if said is not None and said.dedupe_key:
        said.metadata = {**said.metadata, "is_opened": True}
        said.save(update_fields=["metadata"])
    return "\n".join(lines)[:MAX_OPENER_CHARS]


def _end(going: _Run, found: Final | Waiting) -> None:
    job, live = going.job, going.live
    if isinstance(found, Waiting):
        assert going.loop is not None
        content, n = live.so_far()
        loop = {**going.loop.state(), "said": job.said.pk, "notes": _notes(going.turn)}
        turn_ends.lay_aside(job.answer, content, n, loop)
        return
    assert going.prompt is not None
    metadata = {**going.facts(), "finish_reason": "stop"}
    if found.reply.finish_reason == "length":
        metadata |= {"is_cut": True, "finish_reason": "length"}
    if found.client_calls:
        calls = [call.as_json() for call in found.client_calls]
        metadata |= {
            "client_calls": calls,
            "tool_calls": calls,
            "via": "tools",
            "finish_reason": "tool_calls",
        }
    turn_ends.complete(job.answer, found.text, metadata, going.prompt.fingerprint)
    turn_ends.tell(live.publisher, job.answer)
    _tell_observers(going.turn, job.answer)
    dialogue_deletion.forget_if_gone(job.dialogue, job.answer.pk)


def _end_stopped(going: _Run) -> None:
    """Keep what was said. A turn that this process leaves because it ends itself may begin anew elsewhere."""
    job, live = going.job, going.live
    if live.reason == turn_live.SHUTDOWN:
        is_fresh = going.loop is None or going.loop.tip.pk == job.said.pk
        if live.publisher.n <= 1 and is_fresh:
            loop = {**job.state.loop, "is_told": live.publisher.n > 0}
            turn_ends.give_back(job.answer, live.publisher.n, loop)
            return
        _fail(going, INTERRUPTED, "", retry_after_s=1)
        return
    content, _ = live.so_far()
    asked = TurnState.objects.filter(pk=job.answer.pk).values_list("stop_reason", flat=True).first()
    metadata = {**going.facts(), "reason": live.reason or asked or "stopped"}
    try:
        turn_ends.cancel(job.answer, content, metadata)
    except Conflict:
        dialogue_deletion.forget_if_gone(job.dialogue, job.answer.pk)
        raise
    turn_ends.tell(live.publisher, job.answer)


def _fail(going: _Run, reason: str, detail: str, **more: Any) -> None:
    content, _ = going.live.so_far()
    metadata = {**going.facts(), "reason": reason, **({"detail": detail[:500]} if detail else {}), **more}
    if turn_ends.fail(going.job.answer, content, metadata):
        turn_ends.tell(going.live.publisher, going.job.answer)
    else:
        dialogue_deletion.forget_if_gone(going.job.dialogue, going.job.answer.pk)


def _notes(turn: Turn) -> dict[str, Any]:
    """What openers left, as far as JSON holds it."""
    return {name: value for name, value in turn.notes.items() if isinstance(value, str | int | float | bool)}


def _tell_observers(turn: Turn, answer: Message) -> None:
    for name, observer in registries.turn_observers.items():
        try:
            observer(turn, answer)
        except Exception:  # noqa: BLE001 - the answer is saved; an observer's trouble is its own
            log.exception("turn_observer_failed", observer=name)
