"""A finished reflection becomes a proposal; an older one that waits is superseded in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from growth.models import GrowthRun, Proposal, ProposalKind, ProposalStatus
from growth.services import states
from growth.services.effective import effective_of
from growth.services.proposals import common, delivering
from synth import faults
from synth.services import audit, outbox

if TYPE_CHECKING:
    from synth.models import Agent

WORKER = "growth.run_cycles"

faults.declare("growth.proposal.superseded", "the older proposal is superseded, the new one not written")
faults.declare("growth.proposal.opened", "a proposal and its deliveries are written, not yet committed")


def open_from_run(
    run: GrowthRun,
    *,
    content: str,
    likes: Sequence[str],
    dislikes: Sequence[str],
    evidence: Sequence[dict[str, Any]],
    is_ungrounded: bool,
    at: datetime,
) -> Proposal:
    """Open the proposal of a cycle, inside the transaction that ends the run.

    Its `delivery_status` tells whether anybody is being asked: `waiting`, or `nobody` and `failed` with the
    reason in `delivery_error`.
    """
    return open_new(
        run.agent,
        run=run,
        content=content,
        likes=likes,
        dislikes=dislikes,
        evidence=evidence,
        is_ungrounded=is_ungrounded,
        writer=run.writer,
        at=at,
    )


def open_new(
    agent: Agent,
    *,
    run: GrowthRun | None,
    content: str,
    likes: Sequence[str],
    dislikes: Sequence[str],
    evidence: Sequence[dict[str, Any]],
    is_ungrounded: bool,
    writer: str,
    at: datetime,
    revises: Proposal | None = None,
    feedback: str = "",
) -> Proposal:
    """Supersede what is pending, save the new one, write its deliveries; the caller holds a transaction."""
    settings = common.hold(agent)
    live, held = settings.agent, effective_of(settings)
    older = Proposal.objects.filter(
        agent_id=agent.pk, kind=ProposalKind.GROWTH, status=ProposalStatus.PENDING
    ).first()
    if older is not None:
        _supersede(older, live, at)
    ttl = held.proposal_ttl_days
    proposal = Proposal.objects.create(
        agent_id=agent.pk,
        run=run,
        content=content,
        likes=list(likes),
        dislikes=list(dislikes),
        evidence=list(evidence),
        content_hash=states.content_hash(content, likes, dislikes),
        is_ungrounded=is_ungrounded,
        writer=writer,
        revises=revises,
        feedback=feedback,
        created_at=at,
        expires_at=at + timedelta(days=ttl) if ttl else None,
        **common.base_of(live),
    )
    if older is not None:
        older.decided_by = f"proposal {proposal.pk}"
        older.save(update_fields=["decided_by"])
    audit.record(
        WORKER,
        door="task",
        action="growth_proposal_open",
        object=common.name_of(proposal.pk),
        agent=live,
        after={"hash": proposal.content_hash, "supersedes": older.pk if older else None},
    )
    outbox.publish("growth.proposal_opened", {"proposal_id": proposal.pk, "agent_id": agent.pk})
    delivering.deliver(proposal, live, held, older)
    faults.point("growth.proposal.opened")
    return proposal


def _supersede(older: Proposal, agent: Agent, at: datetime) -> None:
    """Also one that has run out and was not swept yet: it makes room, whatever its end is called."""
    is_over = common.is_over(older, at)
    status = ProposalStatus.EXPIRED if is_over else ProposalStatus.SUPERSEDED
    common.move(older, status, by=WORKER, door="task", at=at, agent=agent, action=f"growth_proposal_{status}")
    faults.point("growth.proposal.superseded")
