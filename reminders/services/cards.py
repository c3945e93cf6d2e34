"""Cards in a person's inbox that ask for a word on an agent's action; settled when the question is over.

A card names the question and says no more of it than its action: arguments stay with the question, where a
deleted dialogue takes them along.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.utils.timezone import now

from reminders.models import Delivery, DeliveryStatus
from reminders.services import bells, dispatch
from synth import selectors
from synth.errors import Conflict, DomainError, NotFound
from synth.services import approvals

if TYPE_CHECKING:
    from synth.schemas import Caller

S = DeliveryStatus
TYPE = "tool-approval-request"
log = structlog.get_logger(__name__)
# What a card becomes, by what became of its question.
ENDS: dict[str, DeliveryStatus] = {
    "allowed": S.ACTED,
    "denied": S.ACTED,
    "expired": S.EXPIRED,
    "withdrawn": S.EXPIRED,
}


def show(approval_id: UUID) -> Delivery | None:
    """Put the card of an open question into its person's inbox, once; None when it is not open any more.

    Part of the caller's transaction.
    """
    # Locked: a decision that comes now finds the card when its own event is handled.
    row = approvals.locked(approval_id)
    if row is None or row.status != "pending":
        return None
    metadata = {
        "type": TYPE,
        "approval": str(row.pk),
        "dialogue": str(row.dialogue_id),
        "action": row.action,
        "scopes": [scope["text"] for scope in row.scopes],
        "expires_at": row.expires_at.isoformat(),
    }
    return dispatch.send(
        kind="system",
        title=f"{row.agent.name} asks: may I do {row.action}?",
        body=row.reason,
        metadata=metadata,
        person=row.person,
        dedupe_key=key_of(approval_id),
    )


def key_of(approval_id: UUID) -> str:
    """What tells the card of a question from all other deliveries."""
    return f"approval:{approval_id}"


def settle(approval_id: UUID) -> None:
    """Move the card to what became of the question. One that was not sent yet never is."""
    row = selectors.approval_by_id(approval_id)
    status = row.status if row is not None else "withdrawn"
    end = S.DISMISSED if row is not None and row.decision == "dismiss" else ENDS.get(status)
    if end is None:
        return
    cards = Delivery.objects.filter(dedupe_key=key_of(approval_id))
    moved: dict[str, Any] = {"moved_at": now(), "lease_until": None}
    if cards.filter(status=S.QUEUED).update(status=S.EXPIRED, **moved) == 0:
        cards.filter(status__in=(S.SENT, S.SEEN)).update(status=end, **moved)
    for card in cards:
        bells.moved(card)


def erase(sessions: Iterable[str]) -> int:
    """Delete the cards of dialogues that go; how many."""
    ids = [session.removeprefix("dialogue:") for session in sessions if session.startswith("dialogue:")]
    keys = [key_of(approval_id) for approval_id in selectors.approvals_in(ids)]
    return Delivery.objects.filter(dedupe_key__in=keys).delete()[0]


def dismiss(by: Caller, card: Delivery) -> None:
    """Putting a card away says no; a question that is over already stays what it is."""
    if card.metadata.get("type") != TYPE:
        return
    try:
        approvals.decide(UUID(card.metadata["approval"]), "dismiss", by=by, door="rest")
    except (Conflict, NotFound):
        log.info("approval_card_was_over", delivery=card.pk)
    except DomainError as error:
        log.warning("approval_card_not_decided", delivery=card.pk, code=error.code)
