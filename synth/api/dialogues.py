"""`/api/dialogues/`: a person's own conversations, and the tree of messages in each."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api.base import Api
from synth.api.fields import Flag, Strict, Text
from synth.api.idempotency import idempotent
from synth.api.permissions import agent_seen
from synth.errors import NotAllowed, NotFound
from synth.models import Dialogue, Message, MessageRole, MessageStatus
from synth.schemas import Caller
from synth.services import dialogues

# Kept for the server's own use.
HIDDEN = frozenset({"request", "answer", "is_opened"})


class DialogueBody(Strict):
    """A new dialogue. A scratch one leaves nothing in diary or memory."""

    agent = Text(max_length=64, help_text="slug")
    title = Text(max_length=dialogues.MAX_TITLE_CHARS, allow_blank=True, required=False)
    scratch = Flag(required=False)


class DialogueChange(Strict):
    """What can be changed."""

    title = Text(max_length=dialogues.MAX_TITLE_CHARS, allow_blank=True, required=False)
    archived = Flag(required=False)


class DialogueOut(serializers.Serializer[Dialogue]):
    """A dialogue. `at` is its last activity, `active_leaf` the end of the branch that is shown."""

    id = serializers.UUIDField()
    agent = serializers.CharField(source="agent.slug")
    title = serializers.CharField()
    scratch = serializers.BooleanField(source="is_scratch")
    active_leaf = serializers.IntegerField(source="active_leaf_id", allow_null=True)
    at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)


class MessageOut(serializers.Serializer[Message]):
    """A node of the tree. Where `role` is `tool`, the content is what an action really did."""

    id = serializers.IntegerField()
    parent = serializers.IntegerField(source="parent_id", allow_null=True)  # type: ignore[assignment]
    role = serializers.ChoiceField(choices=MessageRole.choices)
    author = serializers.CharField(source="author.username", allow_null=True, default=None)
    content = serializers.CharField()
    status = serializers.ChoiceField(choices=MessageStatus.choices)
    metadata = serializers.SerializerMethodField()
    at = serializers.DateTimeField()

    def get_metadata(self, message: Message) -> dict[str, Any]:
        return {name: value for name, value in message.metadata.items() if name not in HIDDEN}


class DeletedOut(serializers.Serializer[Any]):
    """The receipt of a deletion."""

    removed = serializers.DictField(child=serializers.IntegerField(), help_text="rows by table")


def may_chat(caller: Caller) -> None:
    """NotAllowed for an app key whose scopes leave chat out."""
    if not caller.has_scope("chat"):
        raise NotAllowed("This key has no scope for chat.", code="scope_missing")


def own_dialogue(caller: Caller, dialogue_id: UUID) -> Dialogue:
    """The caller's own dialogue; NotFound for everybody else's."""
    may_chat(caller)
    row = selectors.dialogues_of(caller.person).filter(pk=dialogue_id).first()
    if row is None:
        raise NotFound("There is no such dialogue.", code="dialogue_not_found")
    return row


class DialoguesView(Api):
    """The dialogues of the person behind the request."""

    queryset = Dialogue.objects.none()
    serializer_class = DialogueOut

    @extend_schema(
        operation_id="dialogues_list",
        responses=DialogueOut(many=True),
        parameters=[
            OpenApiParameter("agent", str, description="slug: only with this agent"),
            OpenApiParameter("archived", OpenApiTypes.BOOL, description="show archived ones instead"),
        ],
    )
    def get(self, request: Request) -> Response:
        """The caller's own dialogues, the last used first."""
        may_chat(self.caller)
        wanted = request.query_params.get("archived", "false").lower()
        if wanted not in ("true", "false"):
            raise ValidationError({"archived": ["true or false is needed."]})
        rows = selectors.dialogues_of(self.caller.person).filter(archived_at__isnull=wanted == "false")
        if slug := request.query_params.get("agent"):
            rows = rows.filter(agent=agent_seen(self.caller, slug))
        return self.page(rows, DialogueOut)

    @extend_schema(operation_id="dialogues_create", request=DialogueBody, responses={201: DialogueOut})
    @idempotent
    def post(self, request: Request) -> Response:
        """Begin a dialogue with an agent that is open to the caller."""
        may_chat(self.caller)
        values = self.checked(DialogueBody)
        agent = agent_seen(self.caller, values.pop("agent"))
        return self.shown(dialogues.create(agent, self.caller.person, **values), DialogueOut, status=201)


class DialogueView(Api):
    """One dialogue."""

    queryset = Dialogue.objects.none()
    serializer_class = DialogueOut

    @extend_schema(operation_id="dialogues_read", responses=DialogueOut)
    def get(self, request: Request, dialogue_id: UUID) -> Response:
        """One of the caller's own dialogues."""
        return self.shown(own_dialogue(self.caller, dialogue_id), DialogueOut)

    @extend_schema(operation_id="dialogues_update", request=DialogueChange, responses=DialogueOut)
    def patch(self, request: Request, dialogue_id: UUID) -> Response:
        """Name it, put it away, bring it back. It cannot be put away while an answer is on its way."""
        row = own_dialogue(self.caller, dialogue_id)
        values = self.checked(DialogueChange, is_partial=True)
        if "archived" in values:
            row = dialogues.archive(row) if values["archived"] else dialogues.unarchive(row)
        if "title" in values:
            row = dialogues.rename(row, values["title"])
        return self.shown(row, DialogueOut)

    @extend_schema(operation_id="dialogues_delete", responses={200: DeletedOut})
    def delete(self, request: Request, dialogue_id: UUID) -> Response:
        """Delete it with its messages, and with what is on record of its prompts and replies."""
        removed = dialogues.delete(own_dialogue(self.caller, dialogue_id))
        return Response({"removed": removed})


class MessagesView(Api):
    """The messages of one dialogue."""

    queryset = Message.objects.none()
    serializer_class = MessageOut
    keyset = ("at", "id")

    @extend_schema(operation_id="dialogues_messages", responses=MessageOut(many=True))
    def get(self, request: Request, dialogue_id: UUID) -> Response:
        """The whole tree, oldest first; `parent` says where each message belongs."""
        return self.page(selectors.messages_of(own_dialogue(self.caller, dialogue_id)), MessageOut)
