"""What the trainer's desk shows: proposals that wait, oldest first, and what to do when none does."""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.db.models import Q, QuerySet

from growth.lists import list_diff
from growth.models import GrowthSettings, GrowthState, Proposal, ProposalStatus, Revision
from growth.services import states
from growth.services.effective import effective_of

if TYPE_CHECKING:
    from synth.models import Agent

N_CARDS = 20
N_AGENTS = 12
N_DECIDED = 5
N_LOOKED_UP = 50
SOON_S = 2 * 86_400
DELIVERY = {
    "waiting": ("growth-dim", "on its way to a trainer"),
    "sent": ("growth-good", "delivered"),
    "failed": ("growth-bad", "reached nobody, after all tries"),
    "nobody": ("growth-bad", "sent to nobody"),
}


def waiting(agents: QuerySet[Agent], at: datetime) -> QuerySet[Proposal]:
    """Pending proposals of these agents that have not run out, oldest first."""
    rows = Proposal.objects.filter(status=ProposalStatus.PENDING, agent_id__in=agents.values("pk"))
    lasting = rows.filter(Q(expires_at=None) | Q(expires_at__gt=at))
    return lasting.select_related("agent").order_by("created_at", "pk")


def n_waiting(agents: QuerySet[Agent], at: datetime, limit: int) -> int:
    """How many wait, counted up to `limit`."""
    return len(waiting(agents, at).order_by().values_list("pk", flat=True)[:limit])


def desk(agents: QuerySet[Agent], *, at: datetime, after: int = 0) -> dict[str, Any]:
    """The context of the desk, under `desk`. `after` is the last proposal of the page before."""
    rows = waiting(agents, at)
    last = Proposal.objects.filter(pk=after).first() if after else None
    if last is not None:
        rows = rows.filter(Q(created_at__gt=last.created_at) | Q(created_at=last.created_at, pk__gt=last.pk))
    found = list(rows[: N_CARDS + 1])
    shown = found[:N_CARDS]
    return {
        "desk": {
            "cards": _cards(shown, at),
            "next": shown[-1].pk if len(found) > N_CARDS else None,
            "is_first": last is None,
            "agents": [] if shown else _agents(agents),
            "decided": _decided(agents),
        }
    }


def _cards(rows: list[Proposal], at: datetime) -> list[dict[str, Any]]:
    selves = GrowthState.objects.filter(agent__in=[row.agent_id for row in rows], is_current=True)
    current = {state.agent_id: state for state in selves}
    open_ones = Revision.objects.filter(proposal__in=rows, status__in=["queued", "running"])
    revisions = {one.proposal_id: one for one in open_ones}
    return [
        {
            "proposal": row,
            "is_expiring": row.expires_at is not None and (row.expires_at - at).total_seconds() < SOON_S,
            "delivery": delivery(row),
            "is_stale": not _holds(row, current.get(row.agent_id)),
            "revision": revisions.get(row.pk),
            "n_list_changes": _n_changes(row),
        }
        for row in rows
    ]


def delivery(row: Proposal) -> dict[str, str]:
    """Whether a trainer was reached: `{css, text, error}`."""
    css, text = DELIVERY.get(row.delivery_status, ("growth-dim", row.delivery_status))
    return {"css": css, "text": text, "error": row.delivery_error}


def _holds(row: Proposal, state: GrowthState | None) -> bool:
    """As `proposals.base_holds`, with the current self at hand."""
    text = state.content if state else ""
    live = states.content_hash(text, row.agent.likes, row.agent.dislikes)
    return row.base_state_id == (state.pk if state else None) and row.base_hash == live


def _n_changes(row: Proposal) -> int:
    changes = [list_diff(row.base_likes, row.likes), list_diff(row.base_dislikes, row.dislikes)]
    return sum(len(one.added) + len(one.removed) for one in changes)


def _agents(agents: QuerySet[Agent]) -> list[dict[str, Any]]:
    """Whom a trainer could ask next, with the mode that holds."""
    rows = GrowthSettings.objects.filter(agent_id__in=agents.filter(archived_at=None).values("pk"))
    return [
        {"row": row, "agent": row.agent, "mode": effective_of(row).mode}
        for row in rows.select_related("agent").order_by("agent__slug")[:N_AGENTS]
    ]


def _decided(agents: QuerySet[Agent]) -> list[Proposal]:
    """The proposals that ended last.

    Agent by agent along the index: those of a few agents may lie far apart among everybody's. Who sees more
    agents than that sees most of all, and finds the newest at the end of the table.
    """
    ended = Proposal.objects.exclude(status=ProposalStatus.PENDING).select_related("agent")
    pks = list(agents.order_by("pk").values_list("pk", flat=True)[: N_LOOKED_UP + 1])
    if len(pks) > N_LOOKED_UP:
        return list(ended.filter(agent_id__in=agents.values("pk")).order_by("-pk")[:N_DECIDED])
    newest = (ended.filter(agent_id=pk).order_by("-created_at", "-pk")[:N_DECIDED] for pk in pks)
    return sorted(chain.from_iterable(newest), key=attrgetter("created_at"), reverse=True)[:N_DECIDED]
