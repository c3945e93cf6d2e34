"""Questions about actions that wait for a person: decided once, run out, taken back.

One can be decided while its turn waits. Whoever moves one locks the row of its answer first, so a decision,
the end of the turn and the worker that lays the turn aside never miss each other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F, Func, JSONField, Q, QuerySet, Value
from django.utils.timezone import now

from synth import actions, faults, selectors
from synth.errors import Conflict, Invalid, NotAllowed, NotFound, Refused
from synth.models import Approval, ApprovalStatus, Message, MessageStatus, Person
from synth.schemas import Caller
from synth.services import approval_grants as grants
from synth.services import audit, outbox

DECISIONS = ("allow_once", "allow_session", "allow_always", "deny", "dismiss")
WIDE = ("allow_session", "allow_always")
_CHUNK = 200
REGRETTED = "should_have_asked"  # a mark in `gates`
S = ApprovalStatus
log = structlog.get_logger(__name__)
faults.declare("approvals.decide.before", "a decision is written, the transaction is still open")
faults.declare("approvals.decide.after", "a decision is saved, the turn goes on when its row is looked at")
faults.declare("approvals.expire.before", "a question has run out, the transaction is still open")


def mark(rows: QuerySet[Approval], name: str, value: Any) -> int:
    """Set a mark in `gates` where it is not set yet; how many rows."""
    more = Value({name: value}, JSONField())
    joined = Func(F("gates"), more, template="(%(expressions)s)", arg_joiner=" || ", output_field=JSONField())
    return rows.exclude(gates__has_key=name).update(gates=joined)


def due_at(answer: Message) -> datetime:
    """From when the turn of a question may go on: at once when nothing is open any more.

    Call it in the transaction that gives the answer's lease back; it locks the answer's row.
    """
    with transaction.atomic():
        _lock(answer.pk)
        rows = Approval.objects.filter(answer_id=answer.pk, status=S.PENDING)
        pending = rows.order_by("expires_at").first()
    return pending.expires_at if pending is not None else now()


def pending_in(dialogue_id: Any) -> Approval | None:
    """The question that is open in a dialogue, or None."""
    return Approval.objects.filter(dialogue_id=dialogue_id, status=S.PENDING).order_by("at").first()


def is_open(answer_id: int) -> bool:
    """Whether this turn waits for somebody's word."""
    return Approval.objects.filter(answer_id=answer_id, status=S.PENDING).exists()


def locked(approval_id: UUID) -> Approval | None:
    """The question, which nobody moves until the caller's transaction ends; None when it is gone."""
    rows = Approval.objects.select_for_update(of=("self",), no_key=True).select_related("agent", "person")
    return rows.filter(pk=approval_id).first()


def seen(caller: Caller) -> QuerySet[Approval]:
    """Questions this caller may see: of their own dialogues, what only their agent's trainer may cause, all
    for an operator; none for an app that would act for more than a plain person.
    """
    rows = Approval.objects.select_related("agent", "person", "decided_by")
    if caller.is_operator:
        return rows
    if caller.app is not None and not selectors.is_plain(caller.person):
        return rows.none()
    own = Q(person=caller.person)
    if caller.may_train:
        theirs = [action.name for action in actions.registered() if action.who == "trainer"]
        own |= Q(action__in=theirs, agent__in=caller.person.trained_agents.values("pk"))
    return rows.filter(own)


def one_seen(caller: Caller, approval_id: UUID) -> Approval:
    """One of `seen`; NotFound otherwise."""
    row = seen(caller).filter(pk=approval_id).first()
    if row is None:
        raise _gone()
    return row


def _gone() -> NotFound:
    return NotFound("There is no such approval.", code="approval_not_found")


def may_decide(caller: Caller, row: Approval) -> bool:
    """Whether this caller's word counts: whoever may cause the action in that dialogue, or for it."""
    if caller.is_operator:
        return True
    action = actions.named(row.action)
    who = action.who if action is not None else "operator"
    if who == "anyone":
        return row.person_id == caller.person.pk
    return who == "trainer" and caller.trains(row.agent)


def decide(approval_id: UUID, decision: str, *, by: Caller, scope: int = 0, door: str) -> Approval:
    """Answer a question that is open: one of `DECISIONS`; the turn goes on.

    `scope` is the index of what is allowed for longer. NotFound; NotAllowed; Invalid for a decision or scope
    there is none of; Conflict `approval_decided` (by whom, when), `approval_expired`, `turn_ended`.
    """
    row = one_seen(by, approval_id)
    with audit.refusals(by.person, door=door, action="approval_decide", object=row, agent=row.agent):
        if not may_decide(by, row):
            raise NotAllowed("Only who may cause this action may allow it.")
        _check(row, decision, scope)
        with transaction.atomic():
            try:
                _lapse(row, now())
            except Approval.DoesNotExist:
                raise _gone() from None
            late = None if row.status == S.PENDING else _too_late(row)
            if late is None:
                _decided(row, decision, by, scope, door)
            faults.point("approvals.decide.before")
        if late is not None:
            raise late
    faults.point("approvals.decide.after")
    return row


def _check(row: Approval, decision: str, scope: int) -> None:
    if decision not in DECISIONS:
        raise Invalid(f"One of {', '.join(DECISIONS)} is needed.", field="decision")
    if decision in WIDE and not 0 <= scope < len(row.scopes):
        raise Invalid("There is no such scope.", field="scope", code="unknown_scope")


def _lapse(row: Approval, at: datetime) -> bool:
    """Read the row anew with its answer locked, and end it if its time or turn is over; whether it was."""
    is_asked = is_alive(row)
    row.refresh_from_db()
    if row.status != S.PENDING or (is_asked and row.expires_at > at):
        return False
    _move(row, S.EXPIRED if is_asked else S.WITHDRAWN, at)
    return True


def _too_late(row: Approval) -> Conflict:
    at = row.decided_at.isoformat() if row.decided_at else None
    if row.status == S.EXPIRED:
        return Conflict("Nobody answered in time.", code="approval_expired", at=at)
    if row.status == S.WITHDRAWN:
        return Conflict("The turn that asked is over.", code="turn_ended", at=at)
    by = row.decided_by.username if row.decided_by else row.decided_door
    return Conflict(
        f"This was {row.status} before by {by or 'somebody'}.",
        code="approval_decided",
        by=by,
        at=at,
        status=row.status,
        decision=row.decision,
    )


def _decided(row: Approval, decision: str, by: Caller, scope: int, door: str) -> None:
    """The move itself, what it grants, its audit entry and its event. In the transaction."""
    is_allowed = decision not in ("deny", "dismiss")
    key = row.scopes[scope]["key"] if decision in WIDE else ""
    status = S.ALLOWED if is_allowed else S.DENIED
    _move(row, status, now(), decision=decision, decided_by=by.person, decided_door=door, scope_key=key)
    if decision in WIDE:
        grants.give(row, scope, in_dialogue=decision == "allow_session")
    note(row, by, door)


def _move(row: Approval, status: ApprovalStatus, at: datetime, **more: Any) -> None:
    """`pending → status` with its event, and the turn goes on; Conflict when it is not pending any more."""
    changes = {"status": status, "decided_at": at, **more}
    if Approval.objects.filter(pk=row.pk, status=S.PENDING).update(**changes) == 0:
        row.refresh_from_db()
        raise _too_late(row)
    for name, value in changes.items():
        setattr(row, name, value)
    outbox.publish("synth.approval_decided", {"approval_id": str(row.pk), "status": str(status)})
    if status != S.WITHDRAWN:
        _wake(row.answer_id)


def _wake(answer_id: int) -> None:
    """The waiting turn is due now, and whoever works on turns hears of it."""
    waiting = Message.objects.filter(pk=answer_id, status=MessageStatus.STREAMING, lease_until=None)
    waiting.update(due_at=now())

    def ring() -> None:
        from synth.services import turns

        turns.resume(answer_id)

    transaction.on_commit(ring, robust=True)


def note(row: Approval, by: Caller | None, door: str) -> None:
    audit.record(
        by.person if by is not None else f"approval by {row.decided_door}",
        door=door,
        action="approval_decide",
        object=row,
        agent=row.agent,
        before={"status": "pending"},
        after={
            "status": str(row.status),
            "decision": row.decision,
            "action": row.action,
            "scope": row.scope_key,
        },
    )


def _lock(answer_id: int) -> Message | None:
    rows = Message.objects.select_for_update(of=("self",), no_key=True)
    return rows.filter(pk=answer_id).first()


def is_alive(row: Approval) -> bool:
    """Whether the turn that asked still runs or waits; locks its answer."""
    answer = _lock(row.answer_id)
    return answer is not None and answer.status == MessageStatus.STREAMING


def settle(row: Approval, at: datetime | None = None) -> bool:
    """End a question whose time or whose turn is over; whether this call did."""
    with transaction.atomic():
        has_ended = _lapse(row, at or now())
        faults.point("approvals.expire.before")
    return has_ended


def expire_due(at: datetime) -> int:
    """End questions that ran out at `at`, and those whose turn ended without taking them back; how many."""
    over = Q(expires_at__lte=at) | ~Q(answer__status=MessageStatus.STREAMING)
    rows = Approval.objects.filter(over, status=S.PENDING).order_by("expires_at")[:_CHUNK]
    n_settled = 0
    for row in rows:
        try:
            n_settled += settle(row, at)
        except (Conflict, Approval.DoesNotExist):
            log.info("approval_settled_elsewhere", approval=str(row.pk))
    return n_settled


def withdraw(answer: Message) -> int:
    """Take back what its turn still asks, because it ends; part of the transaction of its end; how many."""
    n_withdrawn = 0
    with transaction.atomic():
        _lock(answer.pk)
        for row in Approval.objects.filter(answer_id=answer.pk, status=S.PENDING):
            _move(row, S.WITHDRAWN, now())
            n_withdrawn += 1
    return n_withdrawn


def should_have_asked(approval_id: UUID, *, by: Caller, door: str) -> Approval:
    """Say that the judge should not have allowed this by itself; counts against its rule.

    NotFound; NotAllowed; Refused `not_automatic`; Conflict `already_labelled`.
    """
    row = one_seen(by, approval_id)
    with audit.refusals(by.person, door=door, action="approval_regret", object=row, agent=row.agent):
        if not may_decide(by, row):
            raise NotAllowed("Only who may cause this action may say so.")
        if row.status != S.ALLOWED or row.decided_door != "judge":
            raise Refused("A person was asked about this one.", code="not_automatic")
        said = {"by": by.person.pk, "at": now().isoformat()}
        with transaction.atomic():
            if mark(Approval.objects.filter(pk=row.pk), REGRETTED, said) == 0:
                row.refresh_from_db()
                earlier = row.gates[REGRETTED]
                who = Person.objects.filter(pk=earlier["by"]).values_list("username", flat=True).first()
                raise Conflict("This was said before.", code="already_labelled", by=who, at=earlier["at"])
            audit.record(by.person, door=door, action="approval_regret", object=row, agent=row.agent)
            outbox.publish("synth.approval_regretted", {"approval_id": str(row.pk)})
    row.refresh_from_db()
    return row


def as_json(row: Approval) -> dict[str, Any]:
    """The question as streams and clients get it."""
    return {
        "id": str(row.pk),
        "action": row.action,
        "arguments": row.arguments,
        "diff": row.diff,
        "reason": row.reason,
        "scopes": row.scopes,
        "status": str(row.status),
        "decision": row.decision,
        "expires_at": row.expires_at.isoformat(),
    }
