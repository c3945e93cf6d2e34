"""Asking a trainer: who is asked, the message, and what became of it. Rows only; reminders carries them.

A proposal goes to the configured address, else to the fallback address, else to the inbox of every trainer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from django.db import transaction

from growth import proposal_text
from growth.models import DeliveryState, GrowthRun, Proposal, ProposalStatus, RunStatus
from growth.services.effective import EffectiveSettings, effective
from reminders import selectors as deliveries
from reminders.services import dispatch
from synth import faults
from synth.errors import DomainError, Invalid
from synth.selectors import dialogue_by_id

if TYPE_CHECKING:
    from reminders.models import Delivery
    from synth.models import Agent, Person

log = structlog.get_logger(__name__)
KIND = "proposal"
MAX_TRAINERS = 50
PATH, TRAINER = "path", "trainer"

faults.declare("growth.proposal.delivered", "the deliveries of a proposal are written, not yet committed")
faults.declare("growth.delivery.followed", "what became of a delivery is written, not yet committed")


def deliver(
    proposal: Proposal, agent: Agent, settings: EffectiveSettings, older: Proposal | None = None
) -> None:
    """Write the deliveries of a new proposal; trouble with an address stays on the proposal, never raises."""
    title, body = proposal_text.message(_facts(proposal, agent, older))
    try:
        with transaction.atomic():
            sent = _to_targets(proposal, agent, settings, title, body, f"growth.proposal:{proposal.pk}")
    except DomainError as error:
        proposal.delivery_status, proposal.delivery_error = DeliveryState.FAILED, error.message[:500]
        log.warning("growth_proposal_not_sent", proposal=proposal.pk, agent=agent.slug, reason=error.code)
    else:
        proposal.deliveries = [row.pk for row in sent]
        proposal.delivery_status = DeliveryState.WAITING if sent else DeliveryState.NOBODY
        if not sent:
            proposal.delivery_error = "the agent has no trainer"
            log.warning("growth_proposal_not_sent", proposal=proposal.pk, agent=agent.slug, reason="nobody")
    proposal.save(update_fields=["deliveries", "delivery_status", "delivery_error"])
    faults.point("growth.proposal.delivered")


def show_to(proposal: Proposal, person: Person) -> None:
    """Send a pending proposal to one trainer's inbox as well, unless that is already under way."""
    with transaction.atomic():
        rows = Proposal.objects.select_for_update(of=("self",), no_key=True).select_related("agent")
        locked = rows.filter(pk=proposal.pk, status=ProposalStatus.PENDING).first()
        if locked is None:
            return
        before = [row for row in map(deliveries.by_id, locked.deliveries) if row is not None]
        if any(row.person_id == person.pk and row.status == "queued" for row in before):
            return
        title, body = proposal_text.message(_facts(locked, locked.agent, None))
        sent = dispatch.send(
            kind=KIND,
            title=title,
            body=body,
            metadata=_metadata(locked, locked.agent, TRAINER),
            person=person,
            dedupe_key=f"growth.proposal:{locked.pk}:again:{len(before)}:{person.pk}",
        )
        locked.deliveries = [*locked.deliveries, sent.pk]
        if locked.delivery_status != DeliveryState.SENT:
            locked.delivery_status = DeliveryState.WAITING
        locked.save(update_fields=["deliveries", "delivery_status"])


def notify(proposal: Proposal, agent: Agent, notice: str, title: str, body: str) -> None:
    """Tell whoever was asked what became of it; trouble with an address is only logged."""
    more = {"notice": notice}
    key = f"growth.proposal:{proposal.pk}:{notice}"
    try:
        with transaction.atomic():
            _to_targets(proposal, agent, effective(agent), title, body, key, **more)
    except DomainError as error:
        log.warning("growth_notice_not_sent", proposal=proposal.pk, agent=agent.slug, reason=error.code)


def follow(delivery_id: int, error: str = "") -> None:
    """Bring a proposal, and its run, in line with what became of a delivery; heeds only proposals' own."""
    row = deliveries.by_id(delivery_id)
    if row is None or row.kind != KIND or "notice" in row.metadata:
        return
    pk = row.metadata.get("proposal")
    with transaction.atomic():
        found = Proposal.objects.select_for_update(no_key=True).filter(pk=pk if isinstance(pk, int) else 0)
        proposal = found.first()
        if proposal is None or row.pk not in proposal.deliveries:
            return
        rows = [one for one in map(deliveries.by_id, proposal.deliveries) if one is not None]
        proposal.delivery_status = _sum(rows)
        proposal.delivery_error = error[:500] if proposal.delivery_status == DeliveryState.FAILED else ""
        proposal.save(update_fields=["delivery_status", "delivery_error"])
        _follow_run(proposal, error)
        faults.point("growth.delivery.followed")


def is_sent(row: Delivery) -> bool:
    """Whether the channel confirmed it, whatever happened to it since."""
    return row.sent_at is not None


def _sum(rows: list[Delivery]) -> DeliveryState:
    """One that arrived is enough; failed means that each of them did."""
    if any(is_sent(row) for row in rows):
        return DeliveryState.SENT
    has_failed = all(row.status == "failed" for row in rows)
    return DeliveryState.FAILED if has_failed else DeliveryState.WAITING


def _follow_run(proposal: Proposal, error: str) -> None:
    runs = GrowthRun.objects.filter(pk=proposal.run_id or 0)
    if proposal.delivery_status == DeliveryState.SENT:
        undelivered = runs.filter(status=RunStatus.UNDELIVERED)
        undelivered.update(status=RunStatus.PROPOSED, reason="", detail="")
    elif proposal.delivery_status == DeliveryState.FAILED and proposal.status == ProposalStatus.PENDING:
        log.warning("growth_proposal_not_delivered", proposal=proposal.pk, agent=proposal.agent_id)
        proposed = runs.filter(status=RunStatus.PROPOSED)
        proposed.update(status=RunStatus.UNDELIVERED, reason="delivery_failed", detail=error[:500])


def _to_targets(
    proposal: Proposal,
    agent: Agent,
    settings: EffectiveSettings,
    title: str,
    body: str,
    key: str,
    **more: Any,
) -> list[Delivery]:
    """One delivery for the address, or for each trainer; Invalid when the address cannot be used.

    What was saved before that goes with the caller's savepoint.
    """
    path = settings.request_interface_path.strip() or settings.trainer_chat_id.strip()
    if path:
        metadata = _metadata(proposal, agent, PATH) | more
        sent = dispatch.send(
            kind=KIND,
            title=title,
            body=body,
            metadata=metadata,
            interface_path=path,
            dedupe_key=f"{key}:path",
        )
        _refuse_anothers(sent, agent)
        return [sent]
    metadata = _metadata(proposal, agent, TRAINER) | more
    trainers = agent.trainers.filter(archived_at=None, is_active=True).order_by("pk")[:MAX_TRAINERS]
    return [
        dispatch.send(
            kind=KIND,
            title=title,
            body=body,
            metadata=metadata,
            person=person,
            dedupe_key=f"{key}:inbox:{person.pk}",
        )
        for person in trainers
    ]


def _refuse_anothers(row: Delivery, agent: Agent) -> None:
    """Invalid for a dialogue with another agent: a yes said there would answer that one."""
    if row.channel != "dialogue":
        return
    dialogue = dialogue_by_id(row.interface_path.split("/")[1])
    if dialogue is None or dialogue.agent_id != agent.pk:
        raise Invalid("This dialogue is with another agent.", field="interface_path", code="bad_target")


def _metadata(proposal: Proposal, agent: Agent, to: str) -> dict[str, Any]:
    """What programs need to answer; the texts are in the body."""
    return {"proposal": proposal.pk, "agent": agent.slug, "hash": proposal.content_hash, "to": to}


def _facts(proposal: Proposal, agent: Agent, older: Proposal | None) -> proposal_text.Facts:
    run = proposal.run
    return proposal_text.Facts(
        number=proposal.pk,
        agent=agent.name,
        content=proposal.content,
        likes=proposal.likes,
        dislikes=proposal.dislikes,
        base_content=proposal.base_content,
        base_likes=proposal.base_likes,
        base_dislikes=proposal.base_dislikes,
        quotes=[str(one.get("quote", "")) for one in proposal.evidence if isinstance(one, dict)],
        is_ungrounded=proposal.is_ungrounded,
        feedback=proposal.feedback,
        supersedes=older.pk if older else None,
        days=(run.window_start_on, run.window_end_on) if run else (None, None),
        expires_at=proposal.expires_at,
    )
