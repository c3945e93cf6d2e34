"""What growth does on events: it plans the cycles of new and changed agents, and follows its deliveries."""

from __future__ import annotations

from typing import Any

from django.utils.timezone import now

from growth.services import clock, proposals
from synth import selectors
from synth.services.outbox import subscribe


@subscribe("synth.agent_created", "growth.plan_new_agent")
def plan_new_agent(payload: dict[str, Any]) -> None:
    """A new agent gets its settings row and its first planned cycle."""
    _recompute(payload)


@subscribe("synth.agent_changed", "growth.replan_changed_agent")
def replan_changed_agent(payload: dict[str, Any]) -> None:
    """A moved zone, an archived or revived agent changes when, or whether, it reflects."""
    _recompute(payload)


@subscribe("reminders.delivery_sent", "growth.note_proposal_sent")
def note_proposal_sent(payload: dict[str, Any]) -> None:
    """A proposal that reached somebody is marked so."""
    proposals.follow(int(payload["delivery"]))


@subscribe("reminders.delivery_failed", "growth.note_proposal_failed")
def note_proposal_failed(payload: dict[str, Any]) -> None:
    """A proposal that reached nobody stays pending, marked, and its run is undelivered."""
    proposals.follow(int(payload["delivery"]), str(payload.get("error") or "it could not be delivered"))


def _recompute(payload: dict[str, Any]) -> None:
    agent = selectors.agent_by_id(int(payload["agent_id"]))
    if agent is not None:
        clock.recompute(agent.pk, now())
