"""Asking a person about an action: grants and the judge first, then a saved question; once allowed, taken.

A question belongs to one call of one answer. What was allowed is taken before it is performed: a worker
killed in between leaves it undone rather than done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from synth import approval_options, faults, registries
from synth.actions import Action
from synth.chat import scopes
from synth.llm.tolerant import clean_text, clean_value
from synth.models import Approval, ApprovalStatus, Message
from synth.schemas import ApprovalVerdict
from synth.services import approval_grants as grants
from synth.services import approvals, outbox
from synth.turns import Turn

ALWAYS_ASKED = "This action always needs a person's word."
MAX_DIFF_CHARS = 4_000
MAX_REASON_CHARS = 200
N_RECORD = 20
PERFORMED = "performed_at"  # a mark in `gates`
S = ApprovalStatus
log = structlog.get_logger(__name__)
faults.declare("approvals.open.before", "a question is written, the transaction is still open")
faults.declare("approvals.open.after", "a question is saved, its turn is not laid aside yet")
faults.declare("approvals.take.after", "what was allowed is taken and not begun: it stays undone")


@dataclass(frozen=True)
class Question:
    """What is to be asked: `plain` are the arguments as JSON, `doubt` says what is suspicious about them."""

    turn: Turn
    answer: Message
    call_id: str
    action: Action
    arguments: Any
    plain: Any
    doubt: str = ""


def find(answer: Message, call_id: str) -> Approval | None:
    """The question of this call, with one that has run out meanwhile settled."""
    row = Approval.objects.filter(answer_id=answer.pk, call_id=call_id).first()
    if row is not None and row.status == S.PENDING and row.expires_at <= now():
        approvals.settle(row)
        row.refresh_from_db()
    return row


def open(question: Question) -> Approval:
    """Ask, unless a grant or the judge allows it or the person said no in this turn; the saved question.

    Outside of any transaction. A twin of the same call gets the first one's row.
    """
    row = _draft(question)
    said_no = Approval.objects.filter(answer_id=row.answer_id, action=row.action, status=S.DENIED)
    for earlier in said_no:
        if earlier.scopes[:1] == row.scopes[:1]:
            return earlier
    if (granted := grants.match(row, is_narrow=bool(question.doubt))) is not None:
        row.status, row.decided_door, row.scope_key = S.ALLOWED, "grant", granted.key
    elif (verdict := _judged(row, question.turn)) is not None:
        row.judgment_run, row.gates = verdict.run_id or "", {**row.gates, **verdict.gates}
        if verdict.may and not question.doubt and not question.action.touches_self:
            row.status, row.decided_door = S.ALLOWED, "judge"
    return _saved(row)


def _draft(question: Question) -> Approval:
    turn, action, at = question.turn, question.action, now()
    plain = clean_value(question.plain)
    wider = [] if question.doubt or action.scopes is None else _tried(action.scopes, question.arguments)
    diff = "" if action.diff is None else _tried(action.diff, turn, question.arguments)
    return Approval(
        agent=turn.agent,
        person=turn.person,
        dialogue=turn.dialogue,
        answer=question.answer,
        call_id=question.call_id,
        action=action.name,
        arguments=plain,
        diff=clean_text(str(diff or ""))[:MAX_DIFF_CHARS],
        reason=clean_text(question.doubt or ALWAYS_ASKED)[:MAX_REASON_CHARS],
        scopes=[clean_value(s.as_json()) for s in scopes.every(action.name, plain, wider or [])],
        gates={"doubt": True} if question.doubt else {},
        at=at,
        expires_at=at + approval_options.ttl(),
    )


def _tried(function: Any, *args: Any) -> Any:
    """What an app's own function says; its trouble leaves the plain question."""
    try:
        return function(*args)
    except Exception:  # noqa: BLE001 - a card without a diff is still a card
        log.exception("approval_detail_failed")
        return None


def _judged(row: Approval, turn: Turn) -> ApprovalVerdict | None:
    """The first judge's word; trouble with it is as if it weren't there."""
    for name, judge in registries.approval_judges.items():
        try:
            verdict = judge(row, turn, record_of(row))
        except Exception:  # noqa: BLE001 - the person is asked instead
            log.exception("approval_judge_failed", judge=name)
            continue
        if isinstance(verdict, ApprovalVerdict):
            return verdict
    return None


def record_of(row: Approval) -> list[dict[str, Any]]:
    """What became of the latest questions about this action in this person's dialogues, newest first."""
    rows = Approval.objects.filter(person=row.person, agent=row.agent, action=row.action)
    rows = rows.exclude(status=S.PENDING).order_by("-at", "-id")[:N_RECORD]
    return [
        {
            "action": one.action,
            "arguments": one.arguments,
            "status": one.status,
            "decision": approvals.REGRETTED if approvals.REGRETTED in one.gates else one.decision,
            "door": one.decided_door,
            "run_id": one.judgment_run,
        }
        for one in rows
    ]


def _saved(row: Approval) -> Approval:
    try:
        with transaction.atomic():
            if not approvals.is_alive(row):
                row.status = S.WITHDRAWN
            row.decided_at = None if row.status == S.PENDING else now()
            row.save(force_insert=True)
            if row.status == S.PENDING:
                payload = {"approval_id": str(row.pk), "person_id": row.person_id}
                outbox.publish("synth.approval_requested", payload)
            elif row.status == S.ALLOWED:
                approvals.note(row, None, "chat")
            faults.point("approvals.open.before")
    except IntegrityError:
        twin = Approval.objects.filter(answer_id=row.answer_id, call_id=row.call_id).first()
        if twin is None:
            raise
        return twin
    faults.point("approvals.open.after")
    return row


def is_about(row: Approval, action: str, plain: Any) -> bool:
    """Whether that action with those arguments is what the person was shown."""
    narrow = scopes.exact(action, clean_value(plain))
    return bool(row.scopes) and row.action == action and row.scopes[0].get("key") == narrow.key


def take(row: Approval) -> bool:
    """Take what was allowed, once; False for everybody but the first."""
    allowed = Approval.objects.filter(pk=row.pk, status=S.ALLOWED)
    is_mine = approvals.mark(allowed, PERFORMED, now().isoformat()) == 1
    faults.point("approvals.take.after")
    return is_mine
