"""`/api/chat/`: say something to an agent; wait for the whole answer, stream it, look at it, stop it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api import endings
from synth.api.base import Api
from synth.api.dialogues import MessageOut, may_chat, own_dialogue
from synth.api.fields import Strict, Text
from synth.api.handoff import handoff, is_again, is_fronted, need_front
from synth.api.idempotency import idempotent, read_key
from synth.api.tickets import OF_STREAMS, AnyAccept
from synth.chat import events
from synth.errors import Conflict, DomainError, Invalid, NotFound, Unavailable
from synth.llm import LlmError
from synth.models import Dialogue, Message, MessageRole, MessageStatus
from synth.schemas import Caller
from synth.services import branches, dialogues, turns

RETRY_AFTER_S = 30
MAX_ID = 9_223_372_036_854_775_807
LAST_ID = "Last-Event-ID"
ANSWERS = (MessageRole.ASSISTANT, MessageRole.PROACTIVE)
EVENTS = (
    "Server-sent events; `data` is JSON: `message.start`, `delta` {text}, `action`, `approval`, `check_in`, "
    "and one `message.end` {message, actions, usage, finish_reason} or `error` {code, message} at the end. "
    "After `resync` {content} the text so far is that content. Comments keep the connection open."
)
STREAM = {(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, description=EVENTS)}
NO_MORE = {204: OpenApiResponse(description="Everything was told before; do not reconnect")}
RESUME = OpenApiParameter(
    LAST_ID, str, OpenApiParameter.HEADER, description="the last id the client has; only later events come"
)


class ChatBody(Strict):
    """One message. Without `parent` it follows the branch that is shown; `null` begins a new one.

    To edit a message, send the new text with the parent of the old one. To have a message answered anew,
    send its id as `parent` and no content.
    """

    dialogue = serializers.UUIDField()
    content = Text(max_length=dialogues.MAX_CONTENT_CHARS, required=False)
    parent = serializers.IntegerField(  # type: ignore[assignment]
        required=False, allow_null=True, min_value=1, max_value=MAX_ID
    )


class ActionOut(serializers.Serializer[Message]):
    """What became of an action: `text` is the server's own word on it."""

    id = serializers.IntegerField()
    action = serializers.CharField(source="metadata.action", default="")
    is_ok = serializers.BooleanField(source="metadata.is_ok", default=False)
    code = serializers.CharField(source="metadata.code", default="")
    text = serializers.CharField(source="content")


class AskedOut(serializers.Serializer[Any]):
    """A question that waits for a person; decided at `/api/approvals/{id}/decide/`."""

    id = serializers.UUIDField()
    action = serializers.CharField()
    arguments = serializers.DictField()
    diff = serializers.CharField()
    reason = serializers.CharField()
    scopes = serializers.ListField(child=serializers.DictField())
    status = serializers.CharField()
    expires_at = serializers.DateTimeField()


class ChatOut(serializers.Serializer[Any]):
    """The answer, what was done on the way to it, and which questions wait for a person meanwhile."""

    message = MessageOut()
    actions = ActionOut(many=True)
    approvals = AskedOut(many=True)


def shown(answer: Message) -> dict[str, Any]:
    """What `ChatOut` shows."""
    from synth.services import approvals

    open_ones = answer.approvals.filter(status="pending") if answer.status == MessageStatus.STREAMING else ()
    return {
        "message": answer,
        "actions": branches.actions_of(answer),
        "approvals": [approvals.as_json(row) for row in open_ones],
    }


def own_answer(caller: Caller, message_id: Any) -> Message:
    """An answer in one of the caller's own dialogues; NotFound for anything else."""
    may_chat(caller)
    rows = Message.objects.select_related("author", "dialogue")
    row = rows.filter(pk=message_id, dialogue__person=caller.person, role__in=ANSWERS).first()
    if row is None:
        raise NotFound("There is no such answer.", code="message_not_found")
    return row


class _Says(Api):
    """What both ways of saying something share."""

    def dialogue(self, values: dict[str, Any]) -> Dialogue:
        """The caller's own, with an agent that is still there for them."""
        dialogue = own_dialogue(self.caller, values["dialogue"])
        dialogues.refuse_archived(dialogue.agent)
        if not selectors.agents_seen(self.caller).filter(pk=dialogue.agent_id).exists():
            raise NotFound("There is no such agent.", code="agent_not_found")
        return dialogue

    def begun(self, dialogue: Dialogue, values: dict[str, Any]) -> Message:
        """The saved place of the answer, which a worker fills; with a known key the answer it has."""
        person, caller, key = self.caller.person, self.caller, read_key(self.request) or ""
        parent = self._parent(dialogue, values)
        if "content" in values:
            place = turns.Place(parent, "parent" in values and parent is None)
            return turns.begin(dialogue, person, values["content"], place, caller=caller, key=key).answer
        if parent is None:
            raise Invalid("This field is required.", field="content")
        return turns.begin_retake(dialogue, person, parent, caller=caller, key=key).answer

    def answered(self, dialogue: Dialogue, values: dict[str, Any]) -> Message:
        """The whole answer, made in this thread."""
        person, caller, key = self.caller.person, self.caller, read_key(self.request) or ""
        parent = self._parent(dialogue, values)
        if "content" in values:
            at_root = "parent" in values and parent is None
            return turns.take(
                dialogue, person, values["content"], parent, at_root=at_root, caller=caller, key=key
            )
        if parent is None:
            raise Invalid("This field is required.", field="content")
        return turns.retake(dialogue, person, parent, caller=caller, key=key)

    def _parent(self, dialogue: Dialogue, values: dict[str, Any]) -> Message | None:
        if values.get("parent") is None:
            return None
        parent = selectors.messages_of(dialogue).filter(pk=values["parent"]).first()
        if parent is None:
            raise NotFound("There is no such message here.", code="message_not_found", field="parent")
        return parent


class ChatView(_Says):
    """A plain turn."""

    serializer_class = ChatOut
    pagination_class = None

    @extend_schema(operation_id="chat_say", request=ChatBody, responses=ChatOut)
    def post(self, request: Request) -> Response:
        """Say something and get the answer. What was said is saved also when there is no answer.

        409 `turn_running` while the agent still answers in this dialogue; 503 `no_language_model` where none
        is configured; with an Idempotency-Key the same message is said once and answered once. When a person
        is asked for an approval meanwhile, the answer comes with status `streaming` and its `approvals`.
        """
        values = self.checked(ChatBody)
        dialogue = self.dialogue(values)
        if not is_fronted(request):
            try:
                return self.shown(shown(self.answered(dialogue, values)), ChatOut)
            except LlmError as error:
                raise _answerable(error) from None
        answer = self.begun(dialogue, values)
        if answer.status == MessageStatus.STREAMING:
            order = handoff(request, "chat-json", answer=answer.pk)
            assert order is not None
            return order
        return self.shown(shown(answer), ChatOut)


class AnswerView(Api):
    """One answer."""

    queryset = Message.objects.none()
    serializer_class = ChatOut
    pagination_class = None

    def get_throttles(self) -> list[Any]:
        """The front's own second question is the same request."""
        return [] if is_again(self.request) else super().get_throttles()

    @extend_schema(operation_id="chat_answer", responses=ChatOut)
    def get(self, request: Request, message_id: str) -> Response:
        """An answer as it is now, also while it is being written."""
        answer = own_answer(self.caller, _number(message_id))
        if is_again(request) and answer.status == MessageStatus.FAILED:
            raise _failed(answer)
        return self.shown(shown(answer), ChatOut)


class StopView(Api):
    """The end of an answer that is being written."""

    serializer_class = ChatOut
    pagination_class = None

    @extend_schema(operation_id="chat_stop", request=None, responses=ChatOut)
    @idempotent
    def post(self, request: Request, message_id: str) -> Response:
        """Stop an answer for everybody who watches it; what is written so far is kept as `cancelled`.

        409 `already_ended` with its status when nothing runs any more. The answer may still be `streaming`
        for a moment.
        """
        answer = own_answer(self.caller, _number(message_id))
        if answer.status != MessageStatus.STREAMING:
            raise Conflict(
                f"This answer is {answer.status} already.", code="already_ended", status=answer.status
            )
        turns.request_stop(answer.pk, "stopped", by=self.caller.person)
        answer.refresh_from_db()
        return self.shown(shown(answer), ChatOut)


class StreamView(_Says):
    """Answers as they are written."""

    serializer_class = ChatOut
    pagination_class = None
    content_negotiation_class = AnyAccept
    authentication_classes = OF_STREAMS
    ticket_purpose = "chat"

    @extend_schema(
        operation_id="chat_stream",
        request=ChatBody,
        parameters=[RESUME],
        responses=STREAM | NO_MORE,
    )
    def post(self, request: Request) -> Response:
        """Say something and follow the answer.

        With `Last-Event-ID`, or the same Idempotency-Key again, nothing is said: the stream of that answer
        goes on. When its last viewer goes, an answer is stopped 4 s later.
        """
        values = self.checked(ChatBody)
        need_front(request)
        last = request.headers.get(LAST_ID, "").strip()
        if last:
            dialogue = own_dialogue(self.caller, values["dialogue"])
            found = events.parse_sse_id(last)
            if found is None:
                raise Invalid("This is no id of an event here.", field=LAST_ID)
            answer = own_answer(self.caller, found[0])
            if answer.dialogue_id != dialogue.pk:
                raise NotFound("There is no such answer here.", code="message_not_found", field=LAST_ID)
            return _order(request, answer, found[1])
        return _order(request, self.begun(self.dialogue(values), values), 0)

    @extend_schema(
        operation_id="chat_stream_read",
        parameters=[
            OpenApiParameter("message", OpenApiTypes.INT, required=True, description="id of an answer"),
            OpenApiParameter("since", OpenApiTypes.INT, description="an id, for clients that cannot send it"),
            RESUME,
        ],
        responses=STREAM | NO_MORE,
    )
    def get(self, request: Request) -> Response:
        """Follow an answer from its beginning, or from the last event the client has.

        An id that is none of this answer's counts as none given; `since` must be a number.
        """
        answer = own_answer(self.caller, _number(request.query_params.get("message", ""), "message"))
        need_front(request)
        return _order(request, answer, _since(request, answer))


def _since(request: Request, answer: Message) -> int:
    """The number of the last event a client has; the header of a reconnect counts before the address."""
    given = request.query_params.get("since", "")
    if given:
        _number(given, "since")
    for text in (request.headers.get(LAST_ID, ""), given):
        found = events.parse_sse_id(text)
        if found is not None and found[0] == answer.pk:
            return found[1]
    return 0


def _order(request: Request, answer: Message, since: int) -> Response:
    is_over = answer.status != MessageStatus.STREAMING
    order = handoff(request, "chat-sse", answer=answer.pk, since=since, is_over=is_over)
    assert order is not None
    return order


def _number(text: str, field: str | None = None) -> int:
    """A positive number, or Invalid naming the field; without a field 0, which nothing has."""
    if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ID)) and int(text) <= MAX_ID:
        return int(text)
    if field is None:
        return 0
    raise Invalid("A number is needed.", field=field)


def _answerable(error: LlmError) -> Exception:
    """Trouble that may pass tells when to try again."""
    if error.status != 503:
        return error
    wait = max(1, int(error.retry_after_s or RETRY_AFTER_S))
    return Unavailable(error.message, code=error.reason, retry_after_s=wait, **error.details)


def _failed(answer: Message) -> Exception:
    """What became of an answer that somebody waited for."""
    code, message = endings.reason_of(answer)
    details: dict[str, Any] = {"dialogue": str(answer.dialogue_id), "message_id": answer.pk}
    status = endings.status_of(code)
    if status == 503:
        wait = answer.metadata.get("retry_after_s")
        wait_s = max(1, int(wait)) if isinstance(wait, int | float) else RETRY_AFTER_S
        return Unavailable(message, code=code, retry_after_s=wait_s, **details)
    error = DomainError(message, code=code, **details)
    error.status = status
    return error
