"""What growth does when the core tells of a new or changed agent: it plans the agent's next cycle."""

from __future__ import annotations

from typing import Any

from django.utils.timezone import now

from growth.services import clock
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


def _recompute(payload: dict[str, Any]) -> None:
    agent = selectors.agent_by_id(int(payload["agent_id"]))
    if agent is not None:
        clock.recompute(agent.pk, now())
