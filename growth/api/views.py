"""REST views of growth: read and steer an agent's growth, ask for a cycle, look at what came of it."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from growth import selectors
from growth.api import serializers as shapes
from growth.models import GrowthRun, GrowthState
from growth.services import diff, effective, proposals, runs, settings, states
from synth.api.base import Api
from synth.api.idempotency import idempotent
from synth.api.permissions import agent_trained
from synth.errors import Invalid, NotAllowed, NotFound
from synth.schemas import Caller
from synth.selectors import agents_seen, agents_trained

DOOR = "rest"
MAX_ID_DIGITS = 18
AGENT = OpenApiParameter("agent", OpenApiTypes.STR, description="slug; without it, all the caller steers")
WITH = OpenApiParameter("with", OpenApiTypes.INT, required=True, description="id of the state to compare to")


def _settings_of(agent: Any) -> dict[str, Any]:
    """What GET and PATCH of an agent's growth answer."""
    row = settings.row_of(agent)
    held = effective.effective_of(row)
    proposal = proposals.pending(agent)
    return dict(
        shapes.SettingsSerializer(
            {
                **vars(held),
                "next_cycle_at": row.next_cycle_at,
                "pending_proposal": proposal.pk if proposal else None,
                "current": _current(agent),
            }
        ).data
    )


def _current(agent: Any) -> dict[str, Any] | None:
    state = selectors.current(agent.pk)
    if state is None:
        return None
    return {"id": state.pk, "content": state.content, "likes": agent.likes, "dislikes": agent.dislikes}


class AgentGrowth(Api):
    """The growth of one agent."""

    serializer_class = shapes.SettingsSerializer
    pagination_class = None

    @extend_schema(operation_id="growth_read", responses=shapes.SettingsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Settings that hold, the next planned cycle, the current self."""
        return Response(_settings_of(agent_trained(self.caller, slug)))

    @extend_schema(
        operation_id="growth_change",
        request=shapes.SettingsPatchSerializer,
        responses=shapes.SettingsSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change settings; `current` writes a self by hand. All of it, or nothing."""
        agent = agent_trained(self.caller, slug, for_writing=True)
        changes = self.checked(shapes.SettingsPatchSerializer, is_partial=True)
        by_hand = changes.pop("current", None)
        with transaction.atomic():
            settings.change(agent, changes, by=self.caller.person, door=DOOR)
            if by_hand:
                states.manual_edit(agent, **by_hand, by=self.caller.person, door=DOOR)
        agent.refresh_from_db()
        return Response(_settings_of(agent))


class Mine(Api):
    """Narrows a list to one agent, or to every agent the caller steers."""

    keyset = ("-created_at", "-id")

    def agents(self) -> QuerySet[Any]:
        slug = self.request.query_params.get("agent")
        if slug is None:
            return agents_trained(self.caller)
        agent = agent_trained(self.caller, slug.replace("\x00", ""))
        return agents_trained(self.caller).filter(pk=agent.pk)


class StateList(Mine):
    """The kept selves, newest first."""

    serializer_class = shapes.StateSerializer
    queryset = GrowthState.objects.none()

    @extend_schema(
        operation_id="growth_states", parameters=[AGENT], responses=shapes.StateSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        """The kept selves, newest first."""
        return self.page(selectors.states(self.agents()), shapes.StateSerializer)


def steered(rows: QuerySet[Any], caller: Caller, pk: str) -> Any:
    """The row if its agent is the caller's to steer; NotAllowed when they only see the agent."""
    if len(pk) > MAX_ID_DIGITS:
        raise NotFound("There is no such thing.")
    row = rows.filter(pk=int(pk), agent__in=agents_seen(caller).values("pk")).select_related("agent").first()
    if row is None:
        raise NotFound("There is no such thing.")
    if not caller.trains(row.agent):
        raise NotAllowed("Only a trainer of this agent or an operator may do this.")
    return row


class StateRestore(Api):
    """Back to an old self."""

    serializer_class = shapes.StateSerializer
    pagination_class = None

    @extend_schema(
        operation_id="growth_state_restore",
        request=None,
        responses={201: shapes.StateSerializer},
    )
    @idempotent
    def post(self, request: Request, pk: str) -> Response:
        """A new current self with the text and the lists of this one."""
        row = steered(GrowthState.objects.all(), self.caller, pk)
        state = states.restore(row.pk, by=self.caller.person, door=DOOR)
        return Response(shapes.StateSerializer(state).data, status=201)


class StateDiff(Api):
    """What changed between two selves of an agent."""

    serializer_class = shapes.DiffSerializer
    pagination_class = None

    @extend_schema(operation_id="growth_state_diff", parameters=[WITH], responses=shapes.DiffSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """From the state named by `with` to this one."""
        new = steered(GrowthState.objects.all(), self.caller, pk)
        raw = request.query_params.get("with", "")
        if not (raw.isascii() and raw.isdigit()):
            raise Invalid("The id of a state is needed.", field="with")
        old = steered(GrowthState.objects.all(), self.caller, raw)
        if old.agent_id != new.agent_id:
            raise Invalid("Both states must be of one agent.", field="with")
        return Response(shapes.DiffSerializer(diff.between(old, new)).data)


class RunList(Mine):
    """Cycles, newest first; POST asks for one."""

    serializer_class = shapes.RunSerializer
    queryset = GrowthRun.objects.none()

    @extend_schema(operation_id="growth_runs", parameters=[AGENT], responses=shapes.RunSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Cycles, newest first."""
        return self.page(selectors.runs(self.agents()), shapes.RunSerializer)

    @extend_schema(
        operation_id="growth_run_request",
        request=shapes.RunRequestSerializer,
        responses={202: shapes.RunAcceptedSerializer},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Queue a cycle. 409 `cycle_running` names the open `run`."""
        asked = self.checked(shapes.RunRequestSerializer)
        agent = agent_trained(self.caller, asked["agent"])
        run = runs.request(
            agent, by=self.caller.person, dry_run=asked["dry_run"], force=asked["force"], door=DOOR
        )
        return Response(shapes.RunAcceptedSerializer(run).data, status=202)


class RunDetail(Api):
    """One cycle."""

    serializer_class = shapes.RunDetailSerializer
    pagination_class = None

    @extend_schema(operation_id="growth_run_read", responses=shapes.RunDetailSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Everything about it: verdicts, result, evidence, calls."""
        return Response(shapes.RunDetailSerializer(steered(GrowthRun.objects.all(), self.caller, pk)).data)
