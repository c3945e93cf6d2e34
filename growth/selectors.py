"""Reads of growth used in more than one place."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Prefetch, Q, QuerySet

from growth.models import GrowthRun, GrowthState, Proposal
from synth.net.prepared import Prepared

if TYPE_CHECKING:
    from synth.models import Agent, LlmCall


def current(agent_id: int) -> GrowthState | None:
    """The current self of an agent, if it has one."""
    return GrowthState.objects.filter(agent_id=agent_id, is_current=True).first()


def current_at(agent_id: int, at: datetime) -> GrowthState | None:
    """The self that was current at an instant, as far back as the kept rows reach.

    By order of writing: after a clock was set back, the newest self may bear an earlier time than others.
    """
    return _CURRENT_AT.first(agent=agent_id, at=at)


# Prepared, because a prompt waits for it, and a person for the prompt.
_CURRENT_AT = Prepared(
    lambda agent, at: GrowthState.objects.filter(agent_id=agent, created_at__lte=at).order_by("-pk")[:1],
    agent=int, at=datetime,
)  # fmt: skip


def states(agents: QuerySet[Agent]) -> QuerySet[GrowthState]:
    """Every kept self of these agents, newest first."""
    return GrowthState.objects.filter(agent_id__in=agents.values("pk")).select_related("agent")


def runs(agents: QuerySet[Agent]) -> QuerySet[GrowthRun]:
    """Every cycle of these agents, newest first."""
    ids_only = Prefetch("proposals", Proposal.objects.only("pk", "run"))
    rows = GrowthRun.objects.filter(agent_id__in=agents.values("pk"))
    return rows.select_related("agent").prefetch_related(ids_only)


def last_run(agent_id: int) -> GrowthRun | None:
    """The newest cycle of an agent, open or not."""
    return GrowthRun.objects.filter(agent_id=agent_id).order_by("-created_at", "-pk").first()


def calls(run: GrowthRun) -> list[LlmCall]:
    """The calls to language models a run made, oldest first."""
    return list(run.agent.llm_calls.filter(session=session_of(run)).order_by("at", "pk"))


def session_of(run: GrowthRun) -> str:
    """What binds calls and judgments to a run."""
    return f"cycle:{run.pk}"


def pending_proposal(agent_id: int, kind: str, at: datetime) -> Proposal | None:
    """The proposal that waited for a decision at an instant and had not run out, if there was one."""
    return _PENDING_AT.first(agent=agent_id, kind=str(kind), at=at)


def _pending_at(agent: int, kind: str, at: datetime) -> QuerySet[Proposal]:
    undecided = Q(decided_at=None) | Q(decided_at__gt=at)
    lasting = Q(expires_at=None) | Q(expires_at__gt=at)
    rows = Proposal.objects.filter(undecided, lasting, agent_id=agent, kind=kind, created_at__lte=at)
    return rows.order_by("-pk")[:1]


_PENDING_AT = Prepared(_pending_at, agent=int, kind=str, at=datetime)


def proposals(agents: QuerySet[Agent]) -> QuerySet[Proposal]:
    """Every proposal of these agents, newest first."""
    return proposals_by_id().filter(agent_id__in=agents.values("pk"))


def proposals_by_id() -> QuerySet[Proposal]:
    """Every proposal with what its page shows, newest first."""
    return Proposal.objects.select_related("agent").prefetch_related("revision_requests")
