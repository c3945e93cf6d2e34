"""`/api/dialogues/`: a person's own conversations, and the tree of messages in each."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth import toolkits as registry
from synth.api.base import Api
from synth.api.fields import Flag, Strict, Text
from synth.api.idempotency import idempotent
from synth.api.permissions import agent_seen
from synth.errors import NotAllowed, NotFound
from synth.models import Dialogue, Message, MessageRole, MessageStatus, ToolkitOrigin
from synth.schemas import Caller
from synth.services import branches, dialogue_search, dialogues, toolkits

# Kept for the server's own use.
HIDDEN = frozenset({"request", "answer", "is_opened", "n_events"})


MAX_TOOLKIT_CHARS = 64
MAX_ID = 9_223_372_036_854_775_807


class DialogueBody(Strict):
    """A new dialogue. A scratch one leaves nothing in diary or memory.

    `from` names a dialogue of the caller's that this one continues: its toolkit is taken over.
    """

    agent = Text(max_length=64, help_text="slug")
    title = Text(max_length=dialogues.MAX_TITLE_CHARS, allow_blank=True, required=False)
    scratch = Flag(required=False)
    toolkit = Text(max_length=MAX_TOOLKIT_CHARS, required=False)

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": serializers.UUIDField(required=False)}


class DialogueChange(Strict):
    """What can be changed, all of it or nothing. A toolkit counts from the next turn on; `active_leaf` is a
    message: the newest branch through it is shown.
    """

    title = Text(max_length=dialogues.MAX_TITLE_CHARS, allow_blank=True, required=False)
    archived = Flag(required=False)
    toolkit = Text(max_length=MAX_TOOLKIT_CHARS, required=False)
    active_leaf = serializers.IntegerField(required=False, min_value=1, max_value=MAX_ID)


class DialogueOut(serializers.Serializer[Dialogue]):
    """A dialogue. `at` is its last activity, `active_leaf` the end of the branch that is shown.

    `suggested_toolkit` is one that may fit better: changing to it takes the suggestion, changing to another
    (`default` too) declines it.
    """

    id = serializers.UUIDField()
    agent = serializers.CharField(source="agent.slug")
    title = serializers.CharField()
    scratch = serializers.BooleanField(source="is_scratch")
    active_leaf = serializers.IntegerField(source="active_leaf_id", allow_null=True)
    at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)
    toolkit = serializers.CharField()
    toolkit_origin = serializers.ChoiceField(choices=ToolkitOrigin.choices)
    suggested_toolkit = serializers.SerializerMethodField()

    def get_suggested_toolkit(self, dialogue: Dialogue) -> str | None:
        return toolkits.suggested(dialogue)


class DialogueListed(DialogueOut):
    """A dialogue in a list. `snippet` is a line around the words that were looked for, blank where only the
    title has them or nothing was looked for.
    """

    snippet = serializers.SerializerMethodField()

    def get_snippet(self, dialogue: Dialogue) -> str:
        snippets: dict[UUID, str] = self.context.get("snippets", {})
        return snippets.get(dialogue.pk, "")


class ToolkitOut(serializers.Serializer[Any]):
    """A set of actions a dialogue can be on."""

    name = serializers.CharField()
    text = serializers.CharField()


class ToolkitsOut(serializers.Serializer[Any]):
    """All of them, the default one first."""

    results = ToolkitOut(many=True)


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
        responses=DialogueListed(many=True),
        parameters=[
            OpenApiParameter("agent", str, description="slug: only with this agent"),
            OpenApiParameter(
                "archived", OpenApiTypes.BOOL,
                description="archived ones instead; of a search only these, or only the others",
            ),
            OpenApiParameter(
                "q", str, description="words: dialogues whose title, or one message, holds all of them"
            ),
        ],
    )  # fmt: skip
    def get(self, request: Request) -> Response:
        """The caller's own dialogues, the last used first; with `q` those where something is found."""
        may_chat(self.caller)
        words = dialogue_search.words_of(request.query_params.get("q", ""))
        wanted = request.query_params.get("archived", "" if words else "false").lower()
        if wanted not in ("true", "false") and not (words and not wanted):
            raise ValidationError({"archived": ["true or false is needed."]})
        rows = selectors.dialogues_of(self.caller.person)
        if wanted:
            rows = rows.filter(archived_at__isnull=wanted == "false")
        if slug := request.query_params.get("agent"):
            rows = rows.filter(agent=agent_seen(self.caller, slug))
        if not words:
            return self.page(rows, DialogueListed)
        found = self.paginate_queryset(dialogue_search.find(rows, words)) or []
        context = {"snippets": dialogue_search.snippets(found, words)}
        listed: Any = DialogueListed(found, many=True, context=context)  # type: ignore[arg-type]
        return self.get_paginated_response(listed.data)

    @extend_schema(operation_id="dialogues_create", request=DialogueBody, responses={201: DialogueOut})
    @idempotent
    def post(self, request: Request) -> Response:
        """Begin a dialogue with an agent that is open to the caller."""
        may_chat(self.caller)
        values = self.checked(DialogueBody)
        agent = agent_seen(self.caller, values.pop("agent"))
        source = self._continued(values.pop("from", None))
        made = toolkits.begin(agent, self.caller.person, source=source, **values)
        return self.shown(made, DialogueOut, status=201)

    def _continued(self, dialogue_id: UUID | None) -> Dialogue | None:
        try:
            return own_dialogue(self.caller, dialogue_id) if dialogue_id else None
        except NotFound as error:
            error.field = "from"
            raise


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
        """Name it, put it away, bring it back, change its toolkit, show another branch.

        409 `turn_running` or `approval_open`: it cannot be put away, and shows no other branch, while an
        answer is on its way. What is said in it brings it back.
        """
        row = own_dialogue(self.caller, dialogue_id)
        values = self.checked(DialogueChange, is_partial=True)
        with transaction.atomic():
            if "active_leaf" in values:
                branches.show(row, _message(row, values["active_leaf"]))
            if "archived" in values:
                row = dialogues.archive(row) if values["archived"] else dialogues.unarchive(row)
            if "title" in values:
                row = dialogues.rename(row, values["title"])
            if "toolkit" in values:
                row = toolkits.choose(row, values["toolkit"])
        row.refresh_from_db()
        return self.shown(row, DialogueOut)

    @extend_schema(operation_id="dialogues_delete", responses={200: DeletedOut})
    def delete(self, request: Request, dialogue_id: UUID) -> Response:
        """Delete it with every trace of what was said in it; the receipt says how many rows of which table.

        409 `turn_running` or `approval_open` while an answer is on its way.
        """
        row = own_dialogue(self.caller, dialogue_id)
        return Response({"removed": dialogues.delete(row, by=self.caller.person, door="rest")})


def _message(row: Dialogue, message_id: int) -> Message:
    found = Message.objects.filter(dialogue=row, pk=message_id).first()
    if found is None:
        raise NotFound("There is no such message here.", code="message_not_found", field="active_leaf")
    return found


class ToolkitsView(Api):
    """The toolkits of this server."""

    serializer_class = ToolkitsOut
    pagination_class = None

    @extend_schema(operation_id="toolkits_list", responses=ToolkitsOut)
    def get(self, request: Request) -> Response:
        """What a dialogue's `toolkit` can be."""
        may_chat(self.caller)
        return self.shown({"results": list(registry.registered())}, ToolkitsOut)


class MessagesView(Api):
    """The messages of one dialogue."""

    queryset = Message.objects.none()
    serializer_class = MessageOut
    keyset = ("at", "id")

    @extend_schema(operation_id="dialogues_messages", responses=MessageOut(many=True))
    def get(self, request: Request, dialogue_id: UUID) -> Response:
        """The whole tree, oldest first; `parent` says where each message belongs."""
        return self.page(selectors.messages_of(own_dialogue(self.caller, dialogue_id)), MessageOut)
