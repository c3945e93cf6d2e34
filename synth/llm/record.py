"""The row a call leaves, whatever came of it, and the reply an earlier row already holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import structlog
from django.db import transaction

from synth import faults, logs
from synth.llm import spend
from synth.llm.completion import Completion
from synth.llm.hosts import Host
from synth.llm.messages import Reply, Request, ToolCall, sha256
from synth.models import LlmCall, LlmCallPart
from synth.prompts import parts

log = structlog.get_logger("synth.llm")
faults.declare("llm.record.before", "a reply has come and no row says so: it is asked for again")
faults.declare("llm.record.after", "a reply is on record and nothing used it: it is taken from the journal")


@dataclass(frozen=True)
class Outcome:
    """How a call ended: `outcome` is `ok` or a reason; `completion` is None where none came."""

    outcome: str
    error: str = ""
    completion: Completion | None = None
    ms: int = 0


def replay(request: Request) -> Reply | None:
    """The reply of an earlier successful call with the same journal key and the same messages."""
    if not request.journal_key:
        return None
    call = (
        LlmCall.objects.filter(
            journal_key=request.journal_key,
            messages_sha256=request.messages_sha256(),
            outcome="ok",
            agent=request.agent,
        )
        .order_by("at", "id")
        .first()
    )
    if call is None:
        return None
    log.info("llm_call_replayed", llm_call_id=str(call.id), purpose=call.purpose, session=call.session)
    return _reply(call, is_replayed=True)


def save(request: Request, host: Host, outcome: Outcome, at: datetime) -> Reply:
    """Write the row and its parts in one transaction, log one line, and give the reply in the row."""
    call = _row(request, host, outcome, at)
    faults.point("llm.record.before")
    with transaction.atomic():
        record = request.record()
        parts.save(text for *_, text in record)
        call.save(force_insert=True)
        LlmCallPart.objects.bulk_create(
            LlmCallPart(call=call, position=position, role=role, layer=layer, part_id=digest)
            for position, (role, layer, digest, _) in enumerate(record)
        )
    faults.point("llm.record.after")
    _log(call)
    return _reply(call)


def fingerprint(request: Request) -> str:
    """The request's own, else SHA-256 over its ordered part hashes."""
    return request.fingerprint or sha256("\n".join(digest for _, _, digest, _ in request.record()))


def _row(request: Request, host: Host, outcome: Outcome, at: datetime) -> LlmCall:
    done = outcome.completion
    return LlmCall(
        id=uuid4(),
        at=at,
        agent=request.agent,
        purpose=request.purpose,
        session=request.session,
        journal_key=request.journal_key,
        backend=host.backend,
        host=host.label,
        model=(done.model if done else "") or host.model,
        fingerprint=fingerprint(request),
        messages_sha256=request.messages_sha256(),
        trace_id=logs.trace_id(),
        n_prompt_tokens=_prompt_tokens(request, done),
        n_completion_tokens=_completion_tokens(done),
        ms=outcome.ms,
        finish_reason=done.finish_reason if done else "",
        outcome=outcome.outcome,
        error=outcome.error,
        response_text=done.text if done else "",
        tool_calls=[call.as_json() for call in done.tool_calls] if done else [],
    )


def _prompt_tokens(request: Request, done: Completion | None) -> int | None:
    if done is None:
        return None
    if done.n_prompt_tokens is not None:
        return done.n_prompt_tokens
    return sum(spend.estimate(m.text) for m in request.messages)


def _completion_tokens(done: Completion | None) -> int | None:
    if done is None:
        return None
    return spend.estimate(done.text) if done.n_completion_tokens is None else done.n_completion_tokens


def _reply(call: LlmCall, *, is_replayed: bool = False) -> Reply:
    return Reply(
        text=call.response_text,
        call_id=call.id,
        finish_reason=call.finish_reason,
        model=call.model,
        fingerprint=call.fingerprint,
        n_prompt_tokens=call.n_prompt_tokens or 0,
        n_completion_tokens=call.n_completion_tokens or 0,
        ms=call.ms,
        is_replayed=is_replayed,
        tool_calls=tuple(ToolCall(**call) for call in call.tool_calls),
    )


def _log(call: LlmCall) -> None:
    level = log.info if call.outcome == "ok" else log.warning
    level(
        "llm_call",
        llm_call_id=str(call.id),
        agent_id=call.agent_id,
        purpose=call.purpose,
        session=call.session,
        host=call.host,
        model=call.model,
        outcome=call.outcome,
        finish_reason=call.finish_reason,
        ms=call.ms,
        n_prompt_tokens=call.n_prompt_tokens,
        n_completion_tokens=call.n_completion_tokens,
    )
