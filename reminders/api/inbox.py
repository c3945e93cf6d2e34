"""`/api/inbox/`: what reached the caller, in the order it arrived, and what they did with it."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from reminders import selectors
from reminders.models import Delivery, DeliveryKind, DeliveryStatus
from reminders.services import cards, inbox
from synth.api.base import Api
from synth.api.dialogues import may_chat
from synth.api.idempotency import idempotent
from synth.errors import Invalid

MAX_DIGITS = 18
AFTER = OpenApiParameter("after", OpenApiTypes.INT, description="only deliveries past this number")


class DeliveryOut(serializers.Serializer[Delivery]):
    """A delivery in a person's inbox. `seq` counts from 1 without gaps."""

    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=DeliveryKind.choices)
    title = serializers.CharField()
    body = serializers.CharField()
    metadata = serializers.DictField()
    status = serializers.ChoiceField(choices=DeliveryStatus.choices)
    at = serializers.DateTimeField()


class InboxView(Api):
    """The caller's own inbox."""

    queryset = Delivery.objects.none()
    serializer_class = DeliveryOut
    keyset = ("seq",)

    @extend_schema(operation_id="inbox_list", parameters=[AFTER], responses=DeliveryOut(many=True))
    def get(self, request: Request) -> Response:
        """Deliveries, oldest first: ask again with `after` the last `seq` to follow it."""
        may_chat(self.caller)
        raw = request.query_params.get("after", "0")
        if not (raw.isascii() and raw.isdigit() and len(raw) <= MAX_DIGITS):
            raise Invalid("A number of a delivery is needed.", field="after")
        return self.page(selectors.inbox(self.caller.person, int(raw)), DeliveryOut)


class _Move(Api):
    """One move of one delivery. 409 `already_…` when it was moved before, with `status` and `at`."""

    serializer_class = DeliveryOut
    pagination_class = None
    status: DeliveryStatus

    def move(self, seq: str) -> Response:
        """Only the caller's own; 404 for every other number. To put a question away is to say no to it."""
        may_chat(self.caller)
        number = int(seq) if len(seq) <= MAX_DIGITS else 0
        row = inbox.move(self.caller.person, number, self.status)
        if self.status == DeliveryStatus.DISMISSED:
            cards.dismiss(self.caller, row)
        return self.shown(row, DeliveryOut)


class SeenView(_Move):
    """A client is about to show it."""

    status = DeliveryStatus.SEEN

    @extend_schema(operation_id="inbox_seen", request=None, responses=DeliveryOut)
    @idempotent
    def post(self, request: Request, seq: str) -> Response:
        """Claim a delivery before showing it: 409 means that it was shown, so do not show it."""
        return self.move(seq)


class DismissView(_Move):
    """Put away."""

    status = DeliveryStatus.DISMISSED

    @extend_schema(operation_id="inbox_dismiss", request=None, responses=DeliveryOut)
    @idempotent
    def post(self, request: Request, seq: str) -> Response:
        """The person put it away. A question put away is answered with no."""
        return self.move(seq)


class ActView(_Move):
    """Acted on."""

    status = DeliveryStatus.ACTED

    @extend_schema(operation_id="inbox_act", request=None, responses=DeliveryOut)
    @idempotent
    def post(self, request: Request, seq: str) -> Response:
        """The person did what it was about."""
        return self.move(seq)
