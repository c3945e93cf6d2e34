"""`/api/me/`: the person behind the request, as they may see and change themselves."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth.api.base import Api
from synth.api.dialogues import may_chat
from synth.api.fields import Flag, QuietHours, Strict, Text
from synth.models import Door, Person
from synth.schemas import Caller
from synth.services import people


class Me(Strict):
    """A person's own profile. `is_operator` and `is_trainer` say what this key or session may do."""

    username = serializers.CharField(read_only=True)
    first_name = Text(max_length=150, allow_blank=True, required=False)
    last_name = Text(max_length=150, allow_blank=True, required=False)
    timezone = Text(max_length=64, required=False, help_text="IANA name")
    language = Text(max_length=16, required=False, help_text="BCP 47 tag")
    country = Text(max_length=2, allow_blank=True, required=False, help_text="ISO 3166-1 alpha-2")
    quiet_hours = QuietHours(allow_null=True, required=False)
    is_minor = serializers.BooleanField(read_only=True)
    has_proactive_consent = Flag(required=False)
    has_gift_memory_consent = Flag(required=False, allow_null=True)
    role = serializers.CharField(read_only=True, help_text="the key's role, or `session`")
    is_operator = serializers.SerializerMethodField()
    is_trainer = serializers.SerializerMethodField()

    def get_is_operator(self, person: Person) -> bool:
        caller: Caller = self.context["caller"]
        return caller.is_operator

    def get_is_trainer(self, person: Person) -> bool:
        caller: Caller = self.context["caller"]
        return caller.may_train and person.trained_agents.exists()

    def to_representation(self, instance: Any) -> dict[str, Any]:
        key = self.context["caller"].key
        instance.role = key.role if key else "session"
        return super().to_representation(instance)


class MeView(Api):
    """Who am I."""

    serializer_class = Me

    @extend_schema(operation_id="me_read", responses=Me)
    def get(self, request: Request) -> Response:
        """The person behind this key or session."""
        return self.shown(self.caller.person, Me, caller=self.caller)

    @extend_schema(operation_id="me_update", request=Me, responses=Me)
    def patch(self, request: Request) -> Response:
        """Change the own profile; only the fields sent change."""
        may_chat(self.caller)
        person = self.caller.person
        changes = self.checked(Me, is_partial=True)
        return self.shown(people.update(person, changes, by=person, door=Door.REST), Me, caller=self.caller)
