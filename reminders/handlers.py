"""What reminders do on events of others: an agent's question becomes a card in the inbox, and is settled."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from reminders.services import cards
from synth.services.outbox import subscribe


@subscribe("synth.approval_requested", "reminders.show_approval")
def show_approval(payload: dict[str, Any]) -> None:
    """A person who is asked finds a card in their inbox, unless it is decided already."""
    cards.show(UUID(payload["approval_id"]))


@subscribe("synth.approval_decided", "reminders.settle_approval")
def settle_approval(payload: dict[str, Any]) -> None:
    """The card of a question that is over is over as well."""
    cards.settle(UUID(payload["approval_id"]))
