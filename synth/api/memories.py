"""`/api/agents/{slug}/memories/`: what an agent keeps, listed by time or recalled by a question."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api.base import Api
from synth.api.fields import Strict, Text, Texts
from synth.api.idempotency import idempotent
from synth.api.pagination import read_limit
from synth.api.parsers import check_text
from synth.api.permissions import agent_trained
from synth.api.persons import named_person
from synth.models import Agent, Door, Memory
from synth.services import meanings, memories, named_memories

MAX_QUERY_CHARS = 4000


class MemoryBody(Strict):
    """A new memory. `about` is the username of the one person it concerns."""

    text = Text(max_length=memories.MAX_BYTES)
    tags = Texts(required=False)
    kind = Text(max_length=32, required=False)
    name = Text(max_length=100, allow_blank=True, required=False)
    about = Text(max_length=150, allow_null=True, required=False)


class MemoryOut(serializers.Serializer[Memory]):
    """A memory. `score` (0 to 1) comes with `?q=`; `note` where a write deserves a remark."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    text = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    kind = serializers.CharField()
    name = serializers.CharField()
    about = serializers.CharField(source="about.username", allow_null=True, default=None)
    n_tokens = serializers.IntegerField()
    score = serializers.FloatField(required=False)
    note = serializers.CharField(required=False)

    def to_representation(self, instance: Memory) -> dict[str, Any]:
        shown = {
            "id": instance.pk,
            "at": serializers.DateTimeField().to_representation(instance.at),
            "text": instance.text,
            "tags": instance.tags,
            "kind": instance.kind,
            "name": instance.name,
            "about": instance.about.username if instance.about else None,
            "n_tokens": instance.n_tokens,
        }
        for extra in ("score", "note"):
            if extra in self.context:
                shown[extra] = self.context[extra]
        return shown


class MemoriesView(Api):
    """The memories of one agent."""

    queryset = Memory.objects.none()
    serializer_class = MemoryOut

    @extend_schema(
        operation_id="memories_list",
        responses=MemoryOut(many=True),
        parameters=[
            OpenApiParameter(
                "big",
                OpenApiTypes.BOOL,
                description="only those over MEMORY_ENTRY_WARN_TOKENS, the largest first, on one page",
            ),
            OpenApiParameter("q", str, description="recall: the best first, with a score, on one page"),
            OpenApiParameter(
                "about", str, description="a username: their memories too (with q), or only theirs"
            ),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """The memories, newest first; with `q` those that answer it, best first; with `big` the long ones."""
        agent = agent_trained(self.caller, slug)
        username = request.query_params.get("about", "")
        about = named_person(username, "about") if username else None
        query = request.query_params.get("q", "")
        if query.strip():
            return self._recall(agent, query, about)
        rows = selectors.memories(agent)
        rows = rows.filter(about=about) if about else rows
        return self._big(rows) if self._is_big() else self.page(rows, MemoryOut)

    def _is_big(self) -> bool:
        wanted = self.request.query_params.get("big", "false").lower()
        if wanted not in ("true", "false", "1", "0"):
            raise ValidationError({"big": ["true or false is needed."]})
        return wanted in ("true", "1")

    def _big(self, rows: QuerySet[Memory]) -> Response:
        found = named_memories.big(rows)[: read_limit(self.request)]
        return Response({"next": None, "previous": None, "results": [MemoryOut(row).data for row in found]})

    def _recall(self, agent: Agent, query: str, about: Any) -> Response:
        check_text(query, "q")
        query, limit = query[:MAX_QUERY_CHARS], read_limit(self.request)
        found = memories.recall(agent, query, about=about, limit=limit, meaning=meanings.of(query))
        results = [
            MemoryOut(scored.memory, context={"score": round(scored.score, 6)}).data for scored in found
        ]
        return Response({"next": None, "previous": None, "results": results})

    @extend_schema(operation_id="memories_write", request=MemoryBody, responses={201: MemoryOut})
    @idempotent
    def post(self, request: Request, slug: str) -> Response:
        """Keep something."""
        agent = agent_trained(self.caller, slug, for_writing=True)
        values = self.checked(MemoryBody)
        if username := values.pop("about", None):
            values["about"] = named_person(username, "about")
        memory = memories.write(agent, **values, by=self.caller.person, door=Door.REST)
        note = {"note": memory.note} if memory.note else {}
        return self.shown(memory, MemoryOut, status=201, **note)
