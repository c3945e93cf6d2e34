"""The shapes of judgments over REST."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from judgments.models import Mode, Run, RunEvent
from judgments.results import REASONS
from synth.api.fields import Strict, Text

MAX = 200


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "object"}, {"type": "array", "items": {}}]})
class State(serializers.JSONField):
    """A string, an object or an array."""


@extend_schema_field(OpenApiTypes.ANY)
class Anything(serializers.JSONField):
    """JSON as it is stored."""


class JudgmentOut(serializers.Serializer[Any]):
    """A judgment and its settings; `questions` is null where they depend on the state."""

    name = serializers.CharField()
    is_core = serializers.BooleanField(help_text="takes no host or model of its own")
    mode = serializers.ChoiceField(choices=Mode.choices)
    host = serializers.CharField()
    model = serializers.CharField()
    n_orders = serializers.IntegerField(help_text="orders of its options a choice is asked in, and averaged")
    questions = serializers.DictField(allow_null=True)
    positive = serializers.ListField(child=serializers.CharField())
    negative = serializers.ListField(child=serializers.CharField())


class JudgmentPatch(Strict):
    """Settings to change; a blank host or model means the environment's."""

    mode = serializers.ChoiceField(choices=Mode.choices, required=False)
    host = Text(max_length=300, allow_blank=True, required=False)
    model = Text(max_length=150, allow_blank=True, required=False)
    n_orders = serializers.IntegerField(min_value=1, max_value=8, required=False)


class AskBody(Strict):
    """What to ask about."""

    state = State()
    session_id = Text(max_length=200, required=False, help_text="default: `api:<key>`")


class ResultOut(serializers.Serializer[Any]):
    """Answers by question id, or the reason why there are none."""

    answers = serializers.DictField()
    p = serializers.FloatField(allow_null=True, help_text="of yes, where the only question is a noul")
    mode = serializers.ChoiceField(choices=Mode.choices)
    audit = serializers.BooleanField(help_text="look, don't act")
    reason = serializers.ChoiceField(choices=sorted(REASONS), allow_null=True)
    run_id = serializers.CharField(allow_null=True)


class EventOut(serializers.ModelSerializer[RunEvent]):
    """A label, a deed or the gates of a run."""

    class Meta:
        model = RunEvent
        fields = ("kind", "value", "question", "by", "strength", "data", "at")


class RunOut(serializers.ModelSerializer[Run]):
    """A run in lists: without its state."""

    id = serializers.SerializerMethodField()
    caller = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            "id", "judgment", "at", "origin", "mode", "host", "model", "served_model", "is_asked", "skipped",
            "failure", "failure_text", "answers", "usage", "latency_ms", "session_id", "session_model",
            "chain_link", "is_truncated", "is_test", "n_labels", "caller",
        )  # fmt: skip
        extra_kwargs = {"answers": {"allow_null": True}, "usage": {"allow_null": True}}

    def get_id(self, run: Run) -> str:
        """`<judgment>/<uuid>`."""
        return str(run)

    def get_caller(self, run: Run) -> str:
        """The first characters of the key it was asked with."""
        return run.api_key.prefix if run.api_key is not None else ""


class RunDetailOut(RunOut):
    """A run with what was asked about and what was added later."""

    state = Anything()
    questions = serializers.SerializerMethodField()
    events = serializers.SerializerMethodField()

    class Meta(RunOut.Meta):
        fields = (*RunOut.Meta.fields, "state", "questions", "quotes", "positive", "negative", "events")  # type: ignore[assignment]

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_questions(self, run: Run) -> dict[str, Any]:
        """Id → question."""
        return dict(run.version.questions)

    @extend_schema_field(EventOut(many=True))
    def get_events(self, run: Run) -> Any:
        """Oldest first."""
        return EventOut(self.context["events"], many=True).data


class Said(Text):
    """A text that says something; white space alone does not."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not data.strip():
            self.fail("blank")
        return super().run_validation(data)


class LabelBody(Strict):
    """What came of a run; in your own words, at most 200 characters."""

    value = Said(max_length=MAX)
    by = Text(max_length=MAX, allow_blank=True, required=False)
    strength = serializers.ChoiceField(choices=("strong", "weak"), required=False)
    question = Said(max_length=MAX, required=False)


class ActedBody(Strict):
    """What was done about a run."""

    what = Said(max_length=MAX)


class SavedOut(serializers.Serializer[Any]):
    """Whether it was saved."""

    saved = serializers.BooleanField()


class ReportOut(serializers.Serializer[Any]):
    """Groups by wording, served model and caller, never pooled."""

    judgment = serializers.CharField()
    days = serializers.IntegerField()
    since = serializers.DateTimeField()
    budget = serializers.FloatField()
    n_groups = serializers.IntegerField()
    groups = serializers.ListField(child=serializers.DictField())
