"""The JSON of growth: what answers hold, what requests may hold."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from growth.models import GrowthRun, GrowthState, RunStatus, StateSource, Trigger
from growth.services import runs
from synth.api.fields import Strict, Text, Texts


@extend_schema_field(OpenApiTypes.BOOL)
class FlagField(serializers.Field[bool, Any, bool, Any]):
    """A strict yes or no: `"false"` is false, `"maybe"` is refused."""

    def to_internal_value(self, data: Any) -> bool:
        return runs.flag(data, self.field_name or "flag")

    def to_representation(self, value: bool) -> bool:
        return value


class EvidenceSerializer(serializers.Serializer[Any]):
    """One sentence of a reflection and what in the diary it rests on."""

    sentence = serializers.IntegerField(min_value=0)
    quote = serializers.CharField()
    diary_ids = serializers.ListField(child=serializers.IntegerField())


class CurrentSerializer(serializers.Serializer[Any]):
    """The current self."""

    id = serializers.IntegerField()
    content = serializers.CharField()
    likes = serializers.ListField(child=serializers.CharField())
    dislikes = serializers.ListField(child=serializers.CharField())


class SettingsSerializer(serializers.Serializer[Any]):
    """The growth settings that hold for an agent, environment included."""

    mode = serializers.ChoiceField(choices=["off", "on", "request"])
    weekly_day = serializers.CharField()
    weekly_time = serializers.CharField()
    request_interface_path = serializers.CharField(allow_blank=True)
    trainer_chat_id = serializers.CharField(allow_blank=True)
    diary_days = serializers.IntegerField()
    memory_limit = serializers.IntegerField()
    proposal_ttl_days = serializers.IntegerField()
    overridden_by_env = serializers.ListField(child=serializers.CharField())
    problems = serializers.DictField(child=serializers.CharField())
    next_cycle_at = serializers.DateTimeField(allow_null=True)
    pending_proposal = serializers.IntegerField(allow_null=True)
    current = CurrentSerializer(allow_null=True)


class CurrentPatchSerializer(Strict):
    """A self written by hand; an empty `content` clears it. What is left out stays."""

    content = Text(required=False, allow_blank=True, max_length=4000)
    likes = Texts(required=False)
    dislikes = Texts(required=False)


class SettingsPatchSerializer(Strict):
    """What may be changed. The service judges ranges and words, so that every door refuses the same."""

    mode = Text(required=False, allow_blank=True, help_text="off, on or request")
    weekly_day = Text(required=False, allow_blank=True, help_text="full English weekday")
    weekly_time = Text(required=False, allow_blank=True, help_text="HH:MM")
    request_interface_path = Text(required=False, allow_blank=True, max_length=200)
    trainer_chat_id = Text(required=False, allow_blank=True, max_length=200)
    diary_days = serializers.IntegerField(required=False, min_value=1, max_value=60)
    memory_limit = serializers.IntegerField(required=False, min_value=0, max_value=50)
    proposal_ttl_days = serializers.IntegerField(required=False, min_value=0, max_value=3650)
    current = CurrentPatchSerializer(required=False)


class StateSerializer(serializers.ModelSerializer[GrowthState]):
    """One self on record."""

    agent: serializers.SlugRelatedField[Any] = serializers.SlugRelatedField(slug_field="slug", read_only=True)
    source = serializers.ChoiceField(choices=StateSource.choices)  # type: ignore[assignment]
    likes = serializers.ListField(child=serializers.CharField())
    dislikes = serializers.ListField(child=serializers.CharField())
    evidence = EvidenceSerializer(many=True)
    hash = serializers.CharField(source="content_hash")
    ungrounded = serializers.BooleanField(source="is_ungrounded")

    class Meta:
        model = GrowthState
        fields = [
            "id",
            "agent",
            "content",
            "likes",
            "dislikes",
            "source",
            "is_current",
            "created_at",
            "created_by",
            "evidence",
            "hash",
            "ungrounded",
        ]
        read_only_fields = fields


class TextChangeSerializer(serializers.Serializer[Any]):
    """A run of text; equal and inserted runs join to the newer text."""

    op = serializers.ChoiceField(choices=["equal", "insert", "delete"])
    text = serializers.CharField()


class ListChangeSerializer(serializers.Serializer[Any]):
    """Items that came and went."""

    added = serializers.ListField(child=serializers.CharField())
    removed = serializers.ListField(child=serializers.CharField())


class DiffSerializer(serializers.Serializer[Any]):
    """What changed from the state named by `with` to this one."""

    text = TextChangeSerializer(many=True)
    likes = ListChangeSerializer()
    dislikes = ListChangeSerializer()


class RunRequestSerializer(Strict):
    """Ask for a cycle now."""

    agent = Text(max_length=64, help_text="slug")
    dry_run = FlagField(required=False, default=False)
    force = FlagField(required=False, default=False)


class RunAcceptedSerializer(serializers.Serializer[Any]):
    """The run that was queued."""

    id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=RunStatus.choices)


class CallSerializer(serializers.Serializer[Any]):
    """One call to a language model."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    model = serializers.CharField()
    outcome = serializers.CharField()
    finish_reason = serializers.CharField()
    n_prompt_tokens = serializers.IntegerField(allow_null=True)
    n_completion_tokens = serializers.IntegerField(allow_null=True)
    ms = serializers.IntegerField()
    fingerprint = serializers.CharField()
    error = serializers.CharField()
    response_text = serializers.CharField()


class RunSerializer(serializers.ModelSerializer[GrowthRun]):
    """One cycle, queued or finished."""

    agent: serializers.SlugRelatedField[Any] = serializers.SlugRelatedField(slug_field="slug", read_only=True)
    trigger = serializers.ChoiceField(choices=Trigger.choices)
    status = serializers.ChoiceField(choices=RunStatus.choices)
    dry_run = serializers.BooleanField(source="is_dry_run")
    force = serializers.BooleanField(source="is_forced")
    guards = serializers.ListField(child=serializers.DictField())
    result = serializers.DictField(allow_null=True)
    proposal = serializers.SerializerMethodField()
    state = serializers.PrimaryKeyRelatedField[GrowthState](read_only=True)

    class Meta:
        model = GrowthRun
        fields = [
            "id",
            "agent",
            "trigger",
            "status",
            "reason",
            "detail",
            "dry_run",
            "force",
            "mode",
            "writer",
            "created_by",
            "week",
            "intended_on",
            "window_start_on",
            "window_end_on",
            "n_diary",
            "n_diary_left_out",
            "n_memories",
            "n_calls",
            "n_host_failures",
            "guards",
            "result",
            "fingerprint",
            "proposal",
            "state",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields

    def get_proposal(self, run: GrowthRun) -> int | None:
        """The newest proposal that came of a run in mode request."""
        return max((row.pk for row in run.proposals.all()), default=None)


class RunDetailSerializer(RunSerializer):
    """One cycle with its calls to language models."""

    calls = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "calls"]
        read_only_fields = fields

    @extend_schema_field(CallSerializer(many=True))
    def get_calls(self, run: GrowthRun) -> list[dict[str, Any]]:
        """Every call bound to this run, oldest first."""
        from growth.selectors import calls

        return [dict(row) for row in CallSerializer(calls(run), many=True).data]
