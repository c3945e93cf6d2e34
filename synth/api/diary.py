"""`/api/agents/{slug}/diary/`: what an agent lived through, for its trainers and operators."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api.base import Api
from synth.api.fields import Instant, Strict, Text, Texts
from synth.api.idempotency import idempotent
from synth.api.permissions import agent_trained
from synth.models import DiaryEntry, DiarySource, Door
from synth.services import diary


class DiaryBody(Strict):
    """A new entry."""

    at = Instant(required=False, help_text="default: now")
    content = Text(max_length=diary.MAX_CONTENT_BYTES)
    source = serializers.ChoiceField(choices=DiarySource.choices, required=False)  # type: ignore[assignment]
    people = Texts(required=False)
    tags = Texts(required=False)


class DiaryOut(serializers.Serializer[DiaryEntry]):
    """An entry of the diary."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    content = serializers.CharField()
    source = serializers.ChoiceField(choices=DiarySource.choices)  # type: ignore[assignment]
    people = serializers.ListField(child=serializers.CharField())
    tags = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()


class DiaryView(Api):
    """The diary of one agent."""

    queryset = DiaryEntry.objects.none()
    serializer_class = DiaryOut

    @extend_schema(operation_id="diary_list", responses=DiaryOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The entries, newest first."""
        return self.page(selectors.diary(agent_trained(self.caller, slug)), DiaryOut)

    @extend_schema(operation_id="diary_write", request=DiaryBody, responses={201: DiaryOut})
    @idempotent
    def post(self, request: Request, slug: str) -> Response:
        """Add an entry."""
        agent = agent_trained(self.caller, slug, for_writing=True)
        entry = diary.write(agent, **self.checked(DiaryBody), by=self.caller.person, door=Door.REST)
        return self.shown(entry, DiaryOut, status=201)
