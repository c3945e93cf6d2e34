"""What a trainer sees whose decision came too late: mine, theirs, base, and ways to use what was typed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.formats import date_format
from django.utils.timezone import get_current_timezone_name, localtime

from growth import selectors
from growth.models import GrowthSettings, GrowthState, Proposal, ProposalStatus
from growth.services import diff, page, proposals
from growth.services.proposal_page import Plain, base_of
from synth.errors import Conflict

if TYPE_CHECKING:
    from synth.models import Agent, Person

VERBS = {"approve": "approval", "reject": "rejection", "revise": "wish for a rewrite"}


def decision(proposal_id: int, mine: dict[str, Any], conflict: Conflict, person: Person) -> dict[str, Any]:
    """The context of the page after a refused decision, under `page`."""
    row = Proposal.objects.select_related("agent").get(pk=proposal_id)
    agent = row.agent
    base, my_self, current = base_of(row), _self(mine), selectors.current(agent.pk)
    pending = proposals.pending(agent)
    return {
        "page": {
            "agent": agent,
            "proposal": row,
            "headline": _headline(conflict, person),
            "hint": _hint(conflict, row),
            "mine": mine,
            "verb": VERBS[mine["how"]],
            "has_text": mine["how"] == "approve",
            "base": base,
            "base_label": "What was current when it was written",
            "my_diff": diff.between(base, my_self),
            "their_diff": diff.between(base, _live(agent, current)),
            "current": current,
            "pending": pending,
            # What a form on this page decides must stand on this page.
            "pending_diff": diff.between(my_self, pending) if pending and mine["how"] != "reject" else None,
            "revision": conflict.details.get("revision"),
            "settings_pk": page.settings_pk(agent.pk),
            "can_write": agent.archived_at is None,
        }
    }


def by_hand(row: GrowthSettings, typed: dict[str, Any], base: GrowthState | None) -> dict[str, Any]:
    """The same for a text written by hand over a self that is no longer the current one."""
    agent = row.agent
    current = selectors.current(agent.pk)
    live = _live(agent, current)
    shown: Any = base or Plain("", agent.likes, agent.dislikes)
    mine = {**typed, "how": "by hand", "feedback": ""}
    return {
        "page": {
            "agent": agent,
            "proposal": None,
            "headline": "Meanwhile another self became the current one.",
            "hint": "Nothing was saved. Compare, then save yours over it if it should still hold.",
            "mine": mine,
            "verb": "text",
            "has_text": True,
            "base": shown,
            "base_label": "What you started from",
            "my_diff": diff.between(shown, _self(mine)),
            "their_diff": diff.between(shown, live),
            "current": current,
            "pending": None,
            "pending_diff": None,
            "revision": None,
            "settings_pk": row.pk,
            "can_write": agent.archived_at is None,
        }
    }


def _self(mine: dict[str, Any]) -> Plain:
    return Plain(mine["content"], mine["likes"], mine["dislikes"])


def _live(agent: Agent, current: GrowthState | None) -> Plain:
    """What is current now, with the live lists."""
    agent.refresh_from_db(fields=["likes", "dislikes"])
    return Plain(current.content if current else "", agent.likes, agent.dislikes)


def _headline(conflict: Conflict, person: Person) -> str:
    """Who decided what, and when, in the viewer's zone; else what the service says."""
    by, at = conflict.details.get("by"), conflict.details.get("at")
    if not conflict.code.startswith("already_") or not at:
        return conflict.message
    when = date_format(localtime(datetime.fromisoformat(at)), "j F Y, H:i:s")
    who = "you" if by == person.username else by
    return f"Already {conflict.details['status']} by {who} on {when} ({get_current_timezone_name()})."


def _hint(conflict: Conflict, row: Proposal) -> str:
    """What that means for the trainer."""
    hints = {
        "stale": "It was written against a reflection or lists that changed since, so it is closed as out of "
        "date. Reflect again, or save your text by hand.",
        "already_superseded": "A newer proposal took its place.",
        "already_expired": "It ran out before it was decided.",
        "hash_changed": "What your page showed is not what is here. Read it again, then decide.",
        "revision_running": "It is being rewritten; the new text will take its place.",
        "agent_archived": "Take the agent out of the archive first.",
    }
    if hint := hints.get(conflict.code):
        return hint
    is_done = row.status in (ProposalStatus.APPROVED, ProposalStatus.REJECTED)
    return "Your decision changed nothing." if is_done else ""
