"""`/api/agents/{slug}/prompt/`: the text an agent's next turn would be given, layer by layer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth import prompts, selectors
from synth.api.base import Api
from synth.api.fields import Instant, Strict
from synth.api.permissions import agent_trained
from synth.errors import NotFound
from synth.models import Agent

PURPOSES = ("chat", "reflection", "proactive", "review", "sitting")


class PromptQuery(Strict):
    """What can be asked for."""

    purpose = serializers.ChoiceField(choices=PURPOSES, default="chat")
    at = Instant(required=False, default=None)
    dialogue = serializers.CharField(required=False, default=None, max_length=64)


class LayerOut(serializers.Serializer[Any]):
    """One layer of a prompt."""

    name = serializers.CharField()
    volatility = serializers.CharField()
    chars = serializers.IntegerField()
    text = serializers.CharField()
    left_out = serializers.BooleanField()
    problem = serializers.CharField(required=False)


class PromptOut(serializers.Serializer[Any]):
    """A whole prompt and its fingerprint."""

    fingerprint = serializers.CharField()
    text = serializers.CharField()
    layers = LayerOut(many=True)
    reconstructed = serializers.BooleanField(help_text="`at` fell where no call was made")
    call_id = serializers.UUIDField(allow_null=True, help_text="the call this is the prompt of")
    call_at = serializers.DateTimeField(allow_null=True)


class PromptView(Api):
    """The prompt of one agent."""

    serializer_class = PromptOut
    pagination_class = None

    @extend_schema(
        operation_id="prompt_read",
        responses=PromptOut,
        parameters=[
            OpenApiParameter("purpose", str, enum=PURPOSES, default="chat"),
            OpenApiParameter("at", OpenApiTypes.DATETIME, description="as of this instant"),
            OpenApiParameter("dialogue", str, description="one of the caller's own dialogues"),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """The prompt as it is now, or as it was."""
        agent = agent_trained(self.caller, slug)
        wanted = {
            name: request.query_params[name]
            for name in ("purpose", "at", "dialogue")
            if name in request.query_params
        }
        query = PromptQuery(data=wanted)
        query.is_valid(raise_exception=True)
        values = query.validated_data
        place = self._place(agent, values["dialogue"])
        return Response(prompts.describe(agent, values["purpose"], values["at"], **place))

    def _place(self, agent: Agent, dialogue_id: str | None) -> dict[str, Any]:
        """The dialogue asked for and its person; only the caller's own, because chats are private."""
        if dialogue_id is None:
            return {}
        try:
            rows = selectors.dialogues_of(self.caller.person).filter(agent=agent, pk=UUID(dialogue_id))
        except ValueError:
            rows = selectors.dialogues_of(self.caller.person).none()
        dialogue = rows.first()
        if dialogue is None:
            raise NotFound("There is no such dialogue.", code="dialogue_not_found", field="dialogue")
        return {"dialogue": dialogue, "person": self.caller.person}
