"""`/api/approvals/`: what agents ask to be allowed, decided by persons; and what was allowed for longer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from synth.api.base import Api
from synth.api.dialogues import may_chat
from synth.api.fields import Strict
from synth.api.idempotency import idempotent
from synth.models import Approval, ApprovalGrant, ApprovalStatus
from synth.services import approval_grants, approvals

DOOR = "rest"
MAX_DIGITS = 18
STATUS = OpenApiParameter("status", enum=ApprovalStatus.values, description="only questions of this status")
DIALOGUE = OpenApiParameter("dialogue", UUID, description="only questions of this dialogue")


class ScopeOut(serializers.Serializer[dict[str, str]]):
    """What may be allowed for longer: the key that is compared whole, and what it allows."""

    key = serializers.CharField()
    text = serializers.CharField()


class ApprovalOut(serializers.Serializer[Approval]):
    """A question. `scopes` are chosen by index, the narrowest first; `message` is the answer that waits.

    `decided_door` is `grant` or `judge` where nobody had to be asked.
    """

    id = serializers.UUIDField()
    agent = serializers.CharField(source="agent.slug")
    person = serializers.CharField(source="person.username")
    dialogue = serializers.UUIDField(source="dialogue_id")
    message = serializers.IntegerField(source="answer_id")
    action = serializers.CharField()
    arguments = serializers.JSONField()
    diff = serializers.CharField()
    reason = serializers.CharField()
    scopes = ScopeOut(many=True)
    status = serializers.ChoiceField(choices=ApprovalStatus.choices)
    decision = serializers.CharField()
    scope_key = serializers.CharField()
    decided_by = serializers.CharField(source="decided_by.username", allow_null=True, default=None)
    decided_door = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)
    at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class DecisionBody(Strict):
    """An answer. `scope` is the index of what is allowed for longer; `dismiss` is a no without a verdict."""

    decision = serializers.ChoiceField(choices=approvals.DECISIONS)
    scope = serializers.IntegerField(required=False, min_value=0, max_value=100)


class GrantOut(serializers.Serializer[ApprovalGrant]):
    """Something allowed for longer: in one dialogue, or (null) wherever the two talk."""

    id = serializers.IntegerField()
    agent = serializers.CharField(source="agent.slug")
    person = serializers.CharField(source="person.username")
    dialogue = serializers.UUIDField(source="dialogue_id", allow_null=True)
    key = serializers.CharField()
    text = serializers.CharField()
    approval = serializers.UUIDField(source="approval_id", allow_null=True)
    at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class ApprovalsView(Api):
    """The questions a caller may see."""

    queryset = Approval.objects.none()
    serializer_class = ApprovalOut

    @extend_schema(
        operation_id="approvals_list", parameters=[STATUS, DIALOGUE], responses=ApprovalOut(many=True)
    )
    def get(self, request: Request) -> Response:
        """Questions of the caller's own dialogues and those they may answer, newest first."""
        may_chat(self.caller)
        rows = approvals.seen(self.caller).order_by(*self.keyset)
        if status := request.query_params.get("status"):
            if status not in ApprovalStatus.values:
                raise ValidationError({"status": [f"One of {', '.join(ApprovalStatus.values)} is needed."]})
            rows = rows.filter(status=status)
        if dialogue := request.query_params.get("dialogue"):
            rows = rows.filter(dialogue_id=_uuid(dialogue, "dialogue"))
        return self.page(rows, ApprovalOut)


class ApprovalView(Api):
    """One question."""

    queryset = Approval.objects.none()
    serializer_class = ApprovalOut

    @extend_schema(operation_id="approvals_read", responses=ApprovalOut)
    def get(self, request: Request, approval_id: UUID) -> Response:
        """One question of `approvals_list`."""
        may_chat(self.caller)
        return self.shown(approvals.one_seen(self.caller, approval_id), ApprovalOut)


class DecideView(Api):
    """An answer to one question."""

    queryset = Approval.objects.none()
    serializer_class = ApprovalOut

    @extend_schema(operation_id="approvals_decide", request=DecisionBody, responses=ApprovalOut)
    @idempotent
    def post(self, request: Request, approval_id: UUID) -> Response:
        """Decide; the agent goes on. `allow_session` holds in this dialogue, `allow_always` in all with it.

        409 `approval_decided` (with who and when), `approval_expired`, `turn_ended`.
        """
        may_chat(self.caller)
        values = self.checked(DecisionBody)
        row = approvals.decide(
            approval_id, values["decision"], by=self.caller, scope=values.get("scope", 0), door=DOOR
        )
        return self.shown(row, ApprovalOut)


class ShouldHaveAskedView(Api):
    """A complaint about one that nobody was asked about."""

    queryset = Approval.objects.none()
    serializer_class = ApprovalOut

    @extend_schema(operation_id="approvals_should_have_asked", request=None, responses=ApprovalOut)
    @idempotent
    def post(self, request: Request, approval_id: UUID) -> Response:
        """Say that System 1 should not have allowed this alone. 409 `already_labelled`; 422 for others."""
        may_chat(self.caller)
        return self.shown(approvals.should_have_asked(approval_id, by=self.caller, door=DOOR), ApprovalOut)


class GrantsView(Api):
    """What the caller allowed for longer."""

    queryset = ApprovalGrant.objects.none()
    serializer_class = GrantOut

    @extend_schema(operation_id="approvals_grants", responses=GrantOut(many=True))
    def get(self, request: Request) -> Response:
        """Grants, newest first, those taken back too."""
        may_chat(self.caller)
        return self.page(approval_grants.seen(self.caller).order_by(*self.keyset), GrantOut)


class RevokeView(Api):
    """The end of a grant."""

    queryset = ApprovalGrant.objects.none()
    serializer_class = GrantOut

    @extend_schema(operation_id="approvals_grants_revoke", request=None, responses=GrantOut)
    @idempotent
    def post(self, request: Request, grant_id: str) -> Response:
        """Take a grant back: from now on it is asked about again. 409 `already_revoked`."""
        may_chat(self.caller)
        number = int(grant_id) if len(grant_id) <= MAX_DIGITS else 0
        return self.shown(approval_grants.revoke(number, by=self.caller, door=DOOR), GrantOut)


def _uuid(text: Any, field: str) -> UUID:
    try:
        return UUID(str(text))
    except ValueError:
        raise ValidationError({field: ["A UUID is needed."]}) from None
