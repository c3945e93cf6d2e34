"""REST views of proposals: list, read, approve, reject, have rewritten. App keys never decide."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from growth import selectors
from growth.api.serializers import DiffSerializer, EvidenceSerializer
from growth.api.views import AGENT, DOOR, Mine, steered
from growth.models import Proposal, ProposalKind, ProposalStatus, Revision
from growth.services import diff, proposals
from synth.api.base import Api
from synth.api.fields import Strict, Text, Texts
from synth.api.idempotency import idempotent, once
from synth.errors import Conflict, Invalid, NotAllowed

STATUS = OpenApiParameter(
    "status", OpenApiTypes.STR, enum=[str(value) for value in ProposalStatus.values], description="only these"
)
Items = tuple[str, ...]


class DeliverySerializer(serializers.Serializer[Any]):
    """Whether a trainer was reached."""

    status = serializers.ChoiceField(choices=["waiting", "sent", "failed", "nobody"])
    error = serializers.CharField(allow_blank=True)


class AppliedSerializer(serializers.Serializer[Any]):
    """What an approval applied, edits included."""

    content = serializers.CharField()
    likes = serializers.ListField(child=serializers.CharField())
    dislikes = serializers.ListField(child=serializers.CharField())


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """A wish to have a proposal rewritten; `result` is the proposal that came of it."""

    proposal = serializers.PrimaryKeyRelatedField[Proposal](read_only=True)
    result = serializers.PrimaryKeyRelatedField[Proposal](read_only=True)
    status = serializers.ChoiceField(choices=Revision.Status.choices)

    class Meta:
        model = Revision
        fields = ["id", "proposal", "status", "feedback", "reason", "result", "created_at", "finished_at"]
        read_only_fields = fields


class ProposalSerializer(serializers.ModelSerializer[Proposal]):
    """A change that waits for a trainer, or waited; `hash` names exactly what is shown here."""

    agent: serializers.SlugRelatedField[Any] = serializers.SlugRelatedField(slug_field="slug", read_only=True)
    kind = serializers.ChoiceField(choices=ProposalKind.choices)
    status = serializers.ChoiceField(choices=ProposalStatus.choices)
    base_state = serializers.PrimaryKeyRelatedField[Any](read_only=True)
    run = serializers.PrimaryKeyRelatedField[Any](read_only=True)
    state = serializers.PrimaryKeyRelatedField[Any](read_only=True)
    revises = serializers.PrimaryKeyRelatedField[Any](read_only=True)
    likes = serializers.ListField(child=serializers.CharField())
    dislikes = serializers.ListField(child=serializers.CharField())
    evidence = EvidenceSerializer(many=True)
    applied = AppliedSerializer(allow_null=True)
    hash = serializers.CharField(source="content_hash")
    ungrounded = serializers.BooleanField(source="is_ungrounded")
    decided_by = serializers.SerializerMethodField()
    delivery = serializers.SerializerMethodField()
    diff = serializers.SerializerMethodField()
    revisions = RevisionSerializer(source="revision_requests", many=True)

    class Meta:
        model = Proposal
        fields = [
            "id", "agent", "kind", "status", "run", "base_state", "content", "likes", "dislikes", "diff",
            "hash", "evidence", "ungrounded", "writer", "revises", "feedback", "delivery", "revisions",
            "applied", "state", "created_at", "expires_at", "decided_by", "decided_door", "decided_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_decided_by(self, row: Proposal) -> str | None:
        """Who decided, or what else ended it; null while it waits."""
        return row.decided_by or None

    @extend_schema_field(DeliverySerializer)
    def get_delivery(self, row: Proposal) -> dict[str, str]:
        """Whether a trainer was reached."""
        return {"status": row.delivery_status, "error": row.delivery_error}

    @extend_schema_field(DiffSerializer)
    def get_diff(self, row: Proposal) -> Any:
        """From what was current when it was written to what it proposes."""
        return _diff(
            row.base_content, tuple(row.base_likes), tuple(row.base_dislikes), row.content,
            tuple(row.likes), tuple(row.dislikes),
        )  # fmt: skip


class ApproveSerializer(Strict):
    """All optional: the hash of what was shown, and what to apply instead of what was proposed."""

    hash = Text(required=False, max_length=64)
    content = Text(required=False, max_length=2000)
    likes = Texts(required=False)
    dislikes = Texts(required=False)


class RejectSerializer(Strict):
    """All optional."""

    hash = Text(required=False, max_length=64)
    feedback = Text(required=False, allow_blank=True, max_length=proposals.MAX_FEEDBACK_CHARS)


class ReviseSerializer(Strict):
    """What should be different."""

    feedback = Text(max_length=proposals.MAX_FEEDBACK_CHARS)
    hash = Text(required=False, max_length=64)


class ProposalList(Mine):
    """Proposals, newest first."""

    serializer_class = ProposalSerializer
    queryset = Proposal.objects.none()

    @extend_schema(
        operation_id="growth_proposals", parameters=[AGENT, STATUS],
        responses=ProposalSerializer(many=True),
    )  # fmt: skip
    def get(self, request: Request) -> Response:
        """Proposals, newest first."""
        rows = selectors.proposals(self.agents())
        status = request.query_params.get("status")
        if status is not None:
            if status not in ProposalStatus.values:
                allowed = ", ".join(str(value) for value in ProposalStatus.values)
                raise Invalid(f"One of {allowed} is needed.", field="status")
            rows = rows.filter(status=status)
        return self.page(rows, ProposalSerializer)


class _One(Api):
    """One proposal of an agent the caller steers."""

    serializer_class = ProposalSerializer
    pagination_class = None

    def proposal(self, pk: str) -> Proposal:
        """The row, to look at."""
        row: Proposal = steered(Proposal.objects.all(), self.caller, pk)
        return row

    def to_decide(self, pk: str) -> Proposal:
        """The row, for a decision; NotAllowed for apps, whoever they act for."""
        if self.caller.app is not None:
            raise NotAllowed("An app decides nothing in the name of a trainer.")
        return self.proposal(pk)

    def answer(self, pk: int) -> Response:
        """The proposal as it is now."""
        row = selectors.proposals_by_id().get(pk=pk)
        return Response(ProposalSerializer(row).data)


class ProposalDetail(_One):
    """One proposal."""

    @extend_schema(operation_id="growth_proposal_read", responses=ProposalSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Text, lists, differences, evidence, where it stands."""
        return self.answer(self.proposal(pk).pk)


class ProposalApprove(_One):
    """Apply a proposal."""

    @extend_schema(
        operation_id="growth_proposal_approve", request=ApproveSerializer, responses=ProposalSerializer
    )
    def post(self, request: Request, pk: str) -> Response:
        """Apply it, as it is or as edited. 409 `already_…` says by whom and when, `stale` applies nothing."""
        row = self.to_decide(pk)
        edits = self.checked(ApproveSerializer)
        shown = edits.pop("hash", None)

        def effect() -> Response:
            proposals.approve(row.pk, by=self.caller.person, door=DOOR, shown_hash=shown, **edits)
            return self.answer(row.pk)

        try:
            return once(request, effect)
        except Conflict as conflict:
            if conflict.code == "stale":
                # A key's transaction took the mark back together with the refusal.
                proposals.settle_stale(row.pk, by=self.caller.person, door=DOOR)
            raise


class ProposalReject(_One):
    """Discard a proposal."""

    @extend_schema(
        operation_id="growth_proposal_reject", request=RejectSerializer, responses=ProposalSerializer
    )
    @idempotent
    def post(self, request: Request, pk: str) -> Response:
        """Discard it; no state is written. 409 `already_…` says by whom and when."""
        row = self.to_decide(pk)
        said = self.checked(RejectSerializer)
        proposals.reject(
            row.pk, by=self.caller.person, door=DOOR, shown_hash=said.get("hash"),
            feedback=said.get("feedback", ""),
        )  # fmt: skip
        return self.answer(row.pk)


class ProposalRevise(_One):
    """Have a proposal rewritten."""

    @extend_schema(
        operation_id="growth_proposal_revise", request=ReviseSerializer, responses={202: RevisionSerializer}
    )
    @idempotent
    def post(self, request: Request, pk: str) -> Response:
        """Queue the rewriting; the new proposal supersedes this one. 422 `no_language_model` without one."""
        row = self.to_decide(pk)
        said = self.checked(ReviseSerializer)
        revision = proposals.revise(
            row.pk, by=self.caller.person, door=DOOR, feedback=said["feedback"], shown_hash=said.get("hash")
        )
        return Response(RevisionSerializer(revision).data, status=202)


@lru_cache(maxsize=512)
def _diff(
    base_content: str, base_likes: Items, base_dislikes: Items, content: str, likes: Items, dislikes: Items
) -> Any:
    """Proposals never change, and a word diff of a long text takes a while."""
    old = SimpleNamespace(content=base_content, likes=list(base_likes), dislikes=list(base_dislikes))
    new = SimpleNamespace(content=content, likes=list(likes), dislikes=list(dislikes))
    return DiffSerializer(diff.between(old, new)).data
