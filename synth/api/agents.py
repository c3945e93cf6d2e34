"""`/api/agents/`: agents as each caller may see them, made by operators, steered by trainers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api.base import Api
from synth.api.fields import Flag, Strict, Text, Texts
from synth.api.idempotency import idempotent
from synth.api.permissions import IsOperatorOrReads, agent_seen, agent_trained
from synth.api.persons import named_persons
from synth.errors import NotAllowed
from synth.models import Agent, Door
from synth.services import agents

OPEN_FIELDS = ("slug", "name", "language", "likes", "dislikes", "timezone")
OPERATOR_FIELDS = ("slug", "trainers", "people", "local_only", "daily_token_cap")


class ModelOverrides(Strict):
    """The model asked for by purpose; a blank one is the server's."""

    chat = Text(max_length=200, allow_blank=True, required=False)
    grillo = Text(max_length=200, allow_blank=True, required=False, help_text="background work")
    judge = Text(max_length=200, allow_blank=True, required=False)


class AgentBody(Strict):
    """What can be set on an agent."""

    slug = Text(max_length=64, help_text="letters, digits, - and _")
    name = Text(max_length=100)
    persona = Text(max_length=100_000, allow_blank=True, required=False)
    likes = Texts(required=False)
    dislikes = Texts(required=False)
    timezone = Text(max_length=64, required=False, help_text="IANA name")
    language = Text(max_length=16, required=False, help_text="BCP 47 tag")
    trainers = Texts(required=False, help_text="usernames")
    people = Texts(required=False, help_text="usernames; none: open to everyone")
    interface_path = Text(max_length=200, allow_blank=True, required=False)
    model_overrides = ModelOverrides(required=False)
    local_only = Flag(required=False)
    daily_token_cap = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=agents.MAX_TOKEN_CAP
    )


class AgentOut(serializers.Serializer[Agent]):
    """An agent. Only its trainers and operators get the fields that are not required."""

    slug = serializers.CharField()
    name = serializers.CharField()
    language = serializers.CharField()
    timezone = serializers.CharField()
    likes = serializers.ListField(child=serializers.CharField())
    dislikes = serializers.ListField(child=serializers.CharField())
    persona = serializers.CharField(required=False)
    founding_persona = serializers.CharField(required=False)
    trainers = serializers.ListField(child=serializers.CharField(), required=False)
    people = serializers.ListField(child=serializers.CharField(), required=False)
    interface_path = serializers.CharField(required=False)
    model_overrides = serializers.DictField(child=serializers.CharField(), required=False)
    local_only = serializers.BooleanField(required=False)
    daily_token_cap = serializers.IntegerField(required=False, allow_null=True)
    created_at = serializers.DateTimeField(required=False)
    updated_at = serializers.DateTimeField(required=False)
    archived_at = serializers.DateTimeField(required=False, allow_null=True)

    def to_representation(self, instance: Agent) -> dict[str, Any]:
        steered: set[int] | None = self.context["steered"]
        is_full = steered is None or instance.pk in steered
        shown: dict[str, Any] = {}
        for name, field in self.fields.items():
            if name in ("trainers", "people"):
                if is_full:
                    shown[name] = sorted(person.username for person in getattr(instance, name).all())
            elif is_full or name in OPEN_FIELDS:
                value = getattr(instance, name)
                shown[name] = None if value is None else field.to_representation(value)
        return shown


class _Agents(Api):
    """What both agent views share: who is shown in full."""

    queryset = Agent.objects.none()
    serializer_class = AgentOut
    keyset = ("slug",)

    def steered(self) -> set[int] | None:
        """Ids of the agents this caller steers; None: all."""
        if self.caller.is_operator:
            return None
        return set(selectors.agents_trained(self.caller).values_list("pk", flat=True))

    def values(self, *, is_partial: bool) -> dict[str, Any]:
        """The body, with usernames made persons."""
        values = self.checked(AgentBody, is_partial=is_partial)
        for field in agents.TO_MANY:
            if field in values:
                values[field] = named_persons(values[field], field)
        return values


class AgentsView(_Agents):
    """The agents, by slug."""

    permission_classes = [IsOperatorOrReads]

    @extend_schema(
        operation_id="agents_list",
        responses=AgentOut(many=True),
        parameters=[
            OpenApiParameter("archived", OpenApiTypes.BOOL, description="show archived ones instead")
        ],
    )
    def get(self, request: Request) -> Response:
        """The agents this caller may see, by slug."""
        wanted = request.query_params.get("archived", "false").lower()
        if wanted not in ("true", "false"):
            raise ValidationError({"archived": ["true or false is needed."]})
        rows = selectors.agents_seen(self.caller).filter(archived_at__isnull=wanted == "false")
        return self.page(rows.prefetch_related(*agents.TO_MANY), AgentOut, steered=self.steered())

    @extend_schema(operation_id="agents_create", request=AgentBody, responses={201: AgentOut})
    @idempotent
    def post(self, request: Request) -> Response:
        """Make an agent (operators only)."""
        agent = agents.create(**self.values(is_partial=False), by=self.caller.person, door=Door.REST)
        return self.shown(agent, AgentOut, status=201, steered=None)


class AgentView(_Agents):
    """One agent."""

    @extend_schema(operation_id="agents_read", responses=AgentOut)
    def get(self, request: Request, slug: str) -> Response:
        """An agent this caller may see."""
        return self.shown(agent_seen(self.caller, slug), AgentOut, steered=self.steered())

    @extend_schema(operation_id="agents_update", request=AgentBody, responses=AgentOut)
    def patch(self, request: Request, slug: str) -> Response:
        """Change an agent (its trainers and operators); some fields only by operators."""
        agent = agent_trained(self.caller, slug, for_writing=True)
        values = self.values(is_partial=True)
        kept = [field for field in OPERATOR_FIELDS if field in values]
        if kept and not self.caller.is_operator:
            raise NotAllowed("Only an operator may change this.", field=kept[0])
        changed = agents.update(agent, values, by=self.caller.person, door=Door.REST)
        return self.shown(changed, AgentOut, steered=self.steered())
