"""Which proposal a trainer has last been shown, so that a "yes" in chat counts for exactly that one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.timezone import now

from growth.lists import list_diff
from growth.models import Proposal, ProposalKind
from growth.services.proposals import delivering
from reminders import selectors as deliveries

if TYPE_CHECKING:
    from reminders.models import Delivery
    from synth.models import Agent, Dialogue, Person

N_PROPOSALS = 5
N_MESSAGES = 40


@dataclass(frozen=True)
class Shown:
    """The proposal, the hash of what was shown, when, and how: `delivery` or `dialogue`."""

    proposal_id: int
    hash: str
    at: datetime
    how: str


def last_shown(
    agent: Agent, person: Person, *, dialogue: Dialogue | None = None, before: datetime | None = None
) -> Shown | None:
    """What this trainer was shown last before an instant: delivered to them, to a configured address that is
    nobody's own, or written in this dialogue with them."""
    limit = before or now()
    rows = Proposal.objects.filter(agent_id=agent.pk, kind=ProposalKind.GROWTH, created_at__lt=limit)
    found = [_delivered(row, person, limit) for row in rows.order_by("-pk")[:N_PROPOSALS]]
    if dialogue is not None and dialogue.person_id == person.pk and dialogue.agent_id == agent.pk:
        found.append(_written(list(rows.order_by("-pk")[:N_PROPOSALS]), dialogue, limit))
    seen = [one for one in found if one is not None]
    return max(seen, key=lambda one: (one.at, one.proposal_id)) if seen else None


def shows(message: Any, proposal: Proposal) -> bool:
    """Whether a message of the agent shows this very proposal: delivered there, or quoted whole, with what
    changes in the lists, after it was made. An older one may have had the same text."""
    metadata = message.metadata if isinstance(message.metadata, dict) else {}
    if message.role == "proactive":
        is_it = metadata.get("proposal") == proposal.pk and metadata.get("hash") == proposal.content_hash
        return is_it and "notice" not in metadata
    if message.role != "assistant" or message.at <= proposal.created_at:
        return False
    said = _flat(message.content)
    return _flat(proposal.content) in said and all(_flat(item) in said for item in _changed_items(proposal))


def _delivered(proposal: Proposal, person: Person, before: datetime) -> Shown | None:
    """The latest of its deliveries that reached this person, or an address that is nobody's own."""
    times = [
        row.sent_at
        for row in map(deliveries.by_id, proposal.deliveries)
        if row is not None
        and delivering.is_sent(row)
        and row.sent_at is not None
        and row.sent_at <= before
        and (row.person_id == person.pk or _is_for_all(row))
    ]
    return Shown(proposal.pk, proposal.content_hash, max(times), "delivery") if times else None


def _written(proposals: list[Proposal], dialogue: Dialogue, before: datetime) -> Shown | None:
    """The newest message of the dialogue that shows one of them."""
    agents = dialogue.messages.filter(role__in=["proactive", "assistant"], status="complete", at__lt=before)
    for message in agents.order_by("-at", "-pk")[:N_MESSAGES]:
        for proposal in proposals:
            if shows(message, proposal):
                return Shown(proposal.pk, proposal.content_hash, message.at, "dialogue")
    return None


def _is_for_all(row: Delivery) -> bool:
    """An inbox or a dialogue is one person's: what stands there no other trainer has seen."""
    return row.person_id is None and row.metadata.get("to") == delivering.PATH


def _changed_items(proposal: Proposal) -> list[str]:
    """What the lists would gain and lose."""
    likes = list_diff(proposal.base_likes, proposal.likes)
    dislikes = list_diff(proposal.base_dislikes, proposal.dislikes)
    return [item for diff in (likes, dislikes) for item in (*diff.added, *diff.removed)]


def _flat(text: str) -> str:
    return " ".join(text.split())
