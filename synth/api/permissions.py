"""Who may do what: operator everything, a trainer their agents, a person or app what is open to them.

What a caller may not even see is 404; what they see and may not do is 403 `not_allowed`.
"""

from __future__ import annotations

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from synth import selectors
from synth.api.auth import caller_of
from synth.errors import Conflict, NotAllowed, NotFound
from synth.models import Agent
from synth.schemas import Caller

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class IsOperator(BasePermission):
    """Operators only."""

    message = "Only an operator may do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return bool(request.user.is_authenticated) and caller_of(request).is_operator


class IsOperatorOrReads(IsOperator):
    """Anyone known may read; only operators write."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method in SAFE_METHODS:
            return bool(request.user.is_authenticated)
        return super().has_permission(request, view)


def agent_seen(caller: Caller, slug: str) -> Agent:
    """The agent, if this caller may see it; NotFound otherwise."""
    seen = selectors.agents_seen(caller)
    agent = None if "\x00" in slug else seen.filter(slug=slug).first()  # of an address: PostgreSQL takes none
    if agent is None:
        raise NotFound("There is no such agent.", code="agent_not_found")
    return agent


def agent_trained(caller: Caller, slug: str, *, for_writing: bool = False) -> Agent:
    """The agent, if this caller may steer it; NotAllowed when they only see it.

    `for_writing`: Conflict `agent_archived` when it is put away.
    """
    agent = agent_seen(caller, slug)
    if not caller.trains(agent):
        raise NotAllowed("Only a trainer of this agent or an operator may do this.")
    if for_writing and agent.archived_at is not None:
        raise Conflict(
            "The agent is archived.", code="agent_archived", archived_at=agent.archived_at.isoformat()
        )
    return agent
