"""`/api/chat/{message}/check-in/`: a person's word on the card of a long turn."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth.api.base import Api
from synth.api.dialogues import may_chat
from synth.api.fields import Strict
from synth.api.idempotency import idempotent
from synth.errors import NotFound
from synth.models import Message
from synth.services import check_ins


class CheckInBody(Strict):
    """What the turn shall do: say what it has, go on, or stop. It takes effect at its next action."""

    choice = serializers.ChoiceField(choices=check_ins.CHOICES)


class CheckInOut(serializers.Serializer[Any]):
    """The card as it stands. `choices` is empty once it is answered."""

    n_calls = serializers.IntegerField()
    elapsed_s = serializers.FloatField()
    mode = serializers.ChoiceField(choices=("ask", "nudge", "notify"))
    choices = serializers.ListField(child=serializers.CharField())
    choice = serializers.CharField()
    by = serializers.CharField()
    at = serializers.CharField()


class CheckInView(Api):
    """The card of one answer that is being written."""

    serializer_class = CheckInOut
    pagination_class = None

    @extend_schema(operation_id="chat_check_in", request=CheckInBody, responses=CheckInOut)
    @idempotent
    def post(self, request: Request, message_id: str) -> Response:
        """Answer the card. 409 `check_in_closed` when the turn is over or somebody was first."""
        may_chat(self.caller)
        own = Message.objects.filter(dialogue__person=self.caller.person, role="assistant")
        # More digits than an id can have name no message.
        answer = own.filter(pk=int(message_id)).first() if len(message_id) < 19 else None
        if answer is None:
            raise NotFound("There is no such message.", code="message_not_found")
        choice = self.checked(CheckInBody)["choice"]
        return self.shown(check_ins.choose(answer.pk, choice, by=self.caller.person), CheckInOut)
