"""What the pages about an agent's kept selves show: any two compared, the way back to one; reads only."""

from __future__ import annotations

from typing import Any

from growth import selectors
from growth.models import GrowthSettings, GrowthState, Proposal
from growth.services import diff, proposals


class Blank:
    """What an agent without a self has: no text, and the lists it has now."""

    content = ""

    def __init__(self, likes: list[str], dislikes: list[str]) -> None:
        self.likes = likes
        self.dislikes = dislikes


def history(row: GrowthSettings, a: GrowthState | None, b: GrowthState | None) -> dict[str, Any]:
    """The context of an agent's history, under `history`; without a choice the two newest are compared."""
    rows = list(GrowthState.objects.filter(agent_id=row.agent_id).order_by("-pk"))
    new = b or (rows[0] if rows else None)
    old = a or next((one for one in rows if new is not None and one.pk < new.pk), None)
    by_state = {one.state_id: one for one in Proposal.objects.filter(state__in=rows).order_by("pk")}
    return {
        "history": {
            "row": row,
            "agent": row.agent,
            "states": [{"state": one, "proposal": by_state.get(one.pk)} for one in rows],
            "a": old,
            "b": new,
            "diff": diff.between(old, new) if old and new else None,
        }
    }


def restore_page(state: GrowthState) -> dict[str, Any]:
    """The context of the page that asks before going back, under `restore`."""
    agent = state.agent
    current = selectors.current(agent.pk)
    live = Blank(agent.likes, agent.dislikes)
    live.content = current.content if current else ""
    return {
        "restore": {
            "state": state,
            "agent": agent,
            "current": current,
            "diff": diff.between(live, state),
            "proposal": proposals.pending(agent),
        }
    }
