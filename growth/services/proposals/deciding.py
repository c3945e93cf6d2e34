"""Approving and rejecting: one transaction, one winner; everybody else hears who decided what, and when."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.timezone import now

from growth import proposal_text
from growth.lists import resolve
from growth.models import Proposal, ProposalStatus, StateSource
from growth.services import states
from growth.services.proposals import common, delivering
from growth.services.proposals.common import found, refusals
from synth import faults
from synth.errors import Conflict, Invalid
from synth.services import fields

if TYPE_CHECKING:
    from synth.models import Agent, Person

APPROVE, REJECT = "growth_proposal_approve", "growth_proposal_reject"
MAX_FEEDBACK_CHARS = 4_000

faults.declare("growth.approve.moved", "a proposal is marked approved, its state is not written yet")
faults.declare("growth.approve.before", "an approval and its state are written, not yet committed")
faults.declare("growth.approve.after", "an approval is committed, nobody has been answered")
faults.declare("growth.reject.before", "a rejection is written, not yet committed")
faults.declare("growth.stale.before", "a proposal is marked stale, not yet committed")


def approve(
    proposal_id: int,
    *,
    by: Person,
    door: str,
    shown_hash: str | None = None,
    content: Any = None,
    likes: Any = None,
    dislikes: Any = None,
) -> Proposal:
    """Apply a proposal, as it is or as edited; the new state is in `state`, what was applied in `applied`.

    Conflict `already_<status>` (with `by`, `at`), `hash_changed` (`shown_hash` is not the proposal's),
    `agent_archived`, or `stale` when what it was written against changed: then it is marked so, nothing is
    applied, and whoever was asked is told. Inside a caller's transaction that raising rolls back, call
    `settle_stale` afterwards.
    """
    proposal = found(proposal_id)
    with refusals(by, door, APPROVE, proposal):
        edits = _edits(content, likes, dislikes)
        with transaction.atomic():
            agent, at = _ready(proposal, by, shown_hash)
            is_stale = not common.base_holds(proposal, agent)
            if is_stale:
                _make_stale(proposal, agent, by, door, at)
            else:
                _apply(proposal, agent, edits, by, door, at)
        if is_stale:
            raise Conflict(
                "The current reflection or the lists changed since this proposal was written. "
                "Nothing was applied.",
                code="stale",
                status=str(ProposalStatus.STALE),
                proposal=proposal.pk,
            )
    faults.point("growth.approve.after")
    return proposal


def reject(
    proposal_id: int, *, by: Person, door: str, shown_hash: str | None = None, feedback: str = ""
) -> Proposal:
    """Discard a proposal; no state is written. Conflict `already_<status>` or `hash_changed`."""
    proposal = found(proposal_id)
    with refusals(by, door, REJECT, proposal):
        said = fields.text(feedback, "feedback", max_chars=MAX_FEEDBACK_CHARS)
        with transaction.atomic():
            agent, at = _ready(proposal, by, shown_hash, is_archived_fine=True)
            more: dict[str, Any] = {"feedback": said} if said.strip() else {}
            common.move(
                proposal, ProposalStatus.REJECTED, by=by, door=door, at=at, agent=agent, action=REJECT, **more
            )
            faults.point("growth.reject.before")
    return proposal


def settle_stale(proposal_id: int, *, by: Person, door: str) -> None:
    """Mark a pending proposal stale if its base no longer holds; nothing otherwise.

    For doors whose transaction took the mark back together with their refusal.
    """
    proposal = found(proposal_id)
    with transaction.atomic():
        agent = common.hold(proposal.agent).agent
        proposal.refresh_from_db()
        if proposal.status == ProposalStatus.PENDING and not common.base_holds(proposal, agent):
            _make_stale(proposal, agent, by, door, now())


def _ready(
    proposal: Proposal, by: Person, shown_hash: str | None, *, is_archived_fine: bool = False
) -> tuple[Agent, datetime]:
    """Lock, read anew, refuse what cannot be decided; the agent with its live lists, and the instant."""
    agent = common.hold(proposal.agent).agent
    proposal.refresh_from_db()
    at = now()
    common.refuse_strangers(agent, by)
    common.refuse_decided(proposal, at)
    common.refuse_unready(proposal, agent, shown_hash, is_archived_fine=is_archived_fine)
    return agent, at


def _edits(content: Any, likes: Any, dislikes: Any) -> dict[str, Any]:
    """The edited parts, checked; Invalid names the field."""
    edits: dict[str, Any] = {}
    if content is not None:
        limit = states.MAX_CHARS
        text = fields.text(content, "content", max_chars=limit, is_blank_allowed=False).strip()
        if not any(ch.isprintable() and not ch.isspace() for ch in text):
            raise Invalid("This may not be blank.", field="content", code="blank")
        edits["content"] = text
    for field, value in (("likes", likes), ("dislikes", dislikes)):
        if value is not None:
            edits[field] = fields.items(value, field)
    return edits


def _apply(
    proposal: Proposal, agent: Agent, edits: dict[str, Any], by: Person, door: str, at: datetime
) -> None:
    """Move, commit the state, point from one to the other."""
    text = edits.get("content", proposal.content)
    likes, dislikes = resolve(edits.get("likes", proposal.likes), edits.get("dislikes", proposal.dislikes))
    applied = {"content": text, "likes": likes, "dislikes": dislikes}
    is_edited = applied != {
        "content": proposal.content,
        "likes": proposal.likes,
        "dislikes": proposal.dislikes,
    }
    common.move(
        proposal,
        ProposalStatus.APPROVED,
        by=by,
        door=door,
        at=at,
        agent=agent,
        action=APPROVE,
        applied=applied,
        after={"hash": states.content_hash(text, likes, dislikes), "edited": is_edited},
    )
    faults.point("growth.approve.moved")
    is_same_text = text == proposal.content
    state = states.commit(
        agent,
        content=text,
        likes=likes,
        dislikes=dislikes,
        source=StateSource.APPROVED,
        created_by=by.username,
        by=by,
        door=door,
        at=at,
        # Sentences of an edited text are counted anew, so its quotes would point at the wrong ones.
        evidence=proposal.evidence if is_same_text else (),
        is_ungrounded=proposal.is_ungrounded and is_same_text,
    )
    proposal.state = state
    proposal.save(update_fields=["state"])
    faults.point("growth.approve.before")


def _make_stale(proposal: Proposal, agent: Agent, by: Person, door: str, at: datetime) -> None:
    common.move(
        proposal, ProposalStatus.STALE, by=by, door=door, at=at, agent=agent, action="growth_proposal_stale"
    )
    title, body = proposal_text.stale(agent.name, proposal.pk, by.username)
    delivering.notify(proposal, agent, "stale", title, body)
    faults.point("growth.stale.before")
