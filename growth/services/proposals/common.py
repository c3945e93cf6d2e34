"""What every decision about a proposal shares: the lock, the base, the one guarded move, the conflict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.utils.timezone import now

from growth import selectors
from growth.models import GrowthSettings, Proposal, ProposalKind, ProposalStatus
from growth.services import states
from growth.services.effective import row_of
from synth.errors import Conflict, NotAllowed, NotFound
from synth.services import audit, outbox

if TYPE_CHECKING:
    from synth.models import Agent, Person

PENDING = ProposalStatus.PENDING


def name_of(proposal_id: int) -> str:
    """How audit entries name a proposal."""
    return f"growth.proposal:{proposal_id}"


def found(proposal_id: int) -> Proposal:
    """The proposal with its agent, or NotFound."""
    row = Proposal.objects.select_related("agent").filter(pk=proposal_id).first()
    if row is None:
        raise NotFound("There is no such proposal.")
    return row


def pending(agent: Agent, kind: str = ProposalKind.GROWTH, at: datetime | None = None) -> Proposal | None:
    """The agent's open proposal, if there is one that has not run out."""
    row = Proposal.objects.filter(agent_id=agent.pk, kind=kind, status=PENDING).first()
    return None if row is None or is_over(row, at or now()) else row


def hold(agent: Agent) -> GrowthSettings:
    """Growth's lock on the agent, and the agent's own row with its live lists, until the transaction ends.

    The weaker row lock lets the record of a refusal name the agent meanwhile.
    """
    row_of(agent)
    rows = GrowthSettings.objects.select_for_update(of=("self", "agent"), no_key=True)
    return rows.select_related("agent").get(agent_id=agent.pk)


def base_of(agent: Agent) -> dict[str, Any]:
    """What a proposal made now is written against, as columns of the row."""
    current = selectors.current(agent.pk)
    text, likes, dislikes = current.content if current else "", list(agent.likes), list(agent.dislikes)
    return {
        "base_state": current,
        "base_hash": states.content_hash(text, likes, dislikes),
        "base_content": text,
        "base_likes": likes,
        "base_dislikes": dislikes,
    }


def base_holds(proposal: Proposal, agent: Agent) -> bool:
    """Whether the current self and the live lists are still those the proposal was written against."""
    base = base_of(agent)
    state = base["base_state"]
    is_same_state = proposal.base_state_id == (state.pk if state else None)
    return is_same_state and proposal.base_hash == base["base_hash"]


def is_over(proposal: Proposal, at: datetime) -> bool:
    """Whether a pending proposal has run out, swept or not."""
    return proposal.expires_at is not None and proposal.expires_at <= at


def refuse_decided(proposal: Proposal, at: datetime) -> None:
    """Conflict `already_<status>` unless it is pending and has not run out."""
    if proposal.status != PENDING:
        raise already(proposal)
    if is_over(proposal, at):
        raise already(proposal, status=ProposalStatus.EXPIRED, by="growth.expire", at=proposal.expires_at)


def too_late(proposal_id: int) -> Conflict | None:
    """The conflict a decision about it meets now; None while it waits."""
    try:
        refuse_decided(found(proposal_id), now())
    except Conflict as conflict:
        return conflict
    return None


def refuse_unready(
    proposal: Proposal, agent: Agent, shown_hash: str | None, *, is_archived_fine: bool = False
) -> None:
    """Conflict `agent_archived`, or `hash_changed` when something else was shown than what is here."""
    if agent.archived_at is not None and not is_archived_fine:
        since = agent.archived_at.isoformat()
        raise Conflict("The agent is archived.", code="agent_archived", archived_at=since)
    if shown_hash is not None and shown_hash != proposal.content_hash:
        raise Conflict(
            "This is not the text that was shown; read the proposal again.",
            code="hash_changed",
            hash=proposal.content_hash,
            proposal=proposal.pk,
        )


def already(proposal: Proposal, *, status: str = "", by: str = "", at: datetime | None = None) -> Conflict:
    """The conflict that says who decided what, and when."""
    status = status or proposal.status
    by, at = by or proposal.decided_by, at or proposal.decided_at
    when = f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else "an unknown time"
    return Conflict(
        f"This proposal was already {status} by {by or 'somebody'} at {when}.",
        code=f"already_{status}",
        status=str(status),
        by=by,
        at=at.isoformat() if at else None,
        proposal=proposal.pk,
    )


def refuse_strangers(agent: Agent, by: Person) -> None:
    """NotAllowed unless `by` may steer the agent by the database as it is now."""
    is_power = by.is_active and (by.is_operator or by.is_superuser)
    if not is_power and not agent.trainers.filter(pk=by.pk, is_active=True, archived_at=None).exists():
        raise NotAllowed("Only a trainer of this agent or an operator decides about its proposals.")


def move(
    proposal: Proposal,
    status: ProposalStatus,
    *,
    by: Person | str,
    door: str,
    at: datetime,
    agent: Agent,
    action: str,
    where: Q | None = None,
    after: dict[str, Any] | None = None,
    **values: Any,
) -> None:
    """`pending → status` by one guarded UPDATE, with its audit entry and its event; else Conflict."""
    who = by if isinstance(by, str) else by.username
    changes: dict[str, Any] = {
        "status": status,
        "decided_by": who,
        "decided_door": door,
        "decided_at": at,
        **values,
    }
    rows = Proposal.objects.filter(pk=proposal.pk, status=PENDING)
    if where is not None:
        rows = rows.filter(where)
    if rows.update(**changes) == 0:
        proposal.refresh_from_db()
        raise already(proposal)
    for field, value in changes.items():
        setattr(proposal, field, value)
    audit.record(
        by,
        door=door,
        action=action,
        object=name_of(proposal.pk),
        agent=agent,
        before={"status": str(PENDING), "hash": proposal.content_hash},
        after={"status": str(status), **(after or {})},
    )
    outbox.publish(
        "growth.proposal_decided",
        {"proposal_id": proposal.pk, "agent_id": agent.pk, "status": str(status)},
    )


@contextmanager
def refusals(by: Person | None, door: str, action: str, proposal: Proposal) -> Iterator[None]:
    """Audit what is refused inside the block, in a transaction of its own."""
    with audit.refusals(by, door=door, action=action, object=name_of(proposal.pk), agent=proposal.agent):
        yield
