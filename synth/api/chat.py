"""`POST /api/chat/`: say something to an agent and wait for the whole answer."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api.base import Api
from synth.api.dialogues import MessageOut, own_dialogue
from synth.api.fields import Strict, Text
from synth.api.idempotency import read_key
from synth.errors import Invalid, NotFound, Unavailable
from synth.llm import LlmError
from synth.models import Dialogue, Message
from synth.services import branches, dialogues, turns

RETRY_AFTER_S = 30
MAX_ID = 9_223_372_036_854_775_807


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


class ChatOut(serializers.Serializer[Any]):
    """The saved answer, and what was done on the way to it."""

    message = MessageOut()
    actions = ActionOut(many=True)


class ChatView(Api):
    """A plain turn."""

    serializer_class = ChatOut
    pagination_class = None

    @extend_schema(operation_id="chat_say", request=ChatBody, responses=ChatOut)
    def post(self, request: Request) -> Response:
        """Say something and get the answer. What was said is saved also when there is no answer.

        409 `turn_running` while the agent still answers in this dialogue; 503 `no_language_model` where none
        is configured; with an Idempotency-Key the same message is said once and answered once.
        """
        values = self.checked(ChatBody)
        dialogue = self._dialogue(values)
        try:
            answer = self._turn(dialogue, values)
        except LlmError as error:
            raise _answerable(error) from None
        return self.shown({"message": answer, "actions": branches.actions_of(answer)}, ChatOut)

    def _dialogue(self, values: dict[str, Any]) -> Dialogue:
        """The caller's own, with an agent that is still there for them."""
        dialogue = own_dialogue(self.caller, values["dialogue"])
        dialogues.refuse_archived(dialogue.agent)
        if not selectors.agents_seen(self.caller).filter(pk=dialogue.agent_id).exists():
            raise NotFound("There is no such agent.", code="agent_not_found")
        return dialogue

    def _turn(self, dialogue: Dialogue, values: dict[str, Any]) -> Message:
        person, caller = self.caller.person, self.caller
        parent = self._parent(dialogue, values)
        if "content" in values:
            at_root = "parent" in values and parent is None
            key = read_key(self.request) or ""
            return turns.take(
                dialogue, person, values["content"], parent, at_root=at_root, caller=caller, key=key
            )
        if parent is None:
            raise Invalid("This field is required.", field="content")
        return turns.retake(dialogue, person, parent, caller=caller)

    def _parent(self, dialogue: Dialogue, values: dict[str, Any]) -> Message | None:
        if values.get("parent") is None:
            return None
        parent = selectors.messages_of(dialogue).filter(pk=values["parent"]).first()
        if parent is None:
            raise NotFound("There is no such message here.", code="message_not_found", field="parent")
        return parent


def _answerable(error: LlmError) -> Exception:
    """Trouble that may pass tells when to try again."""
    if error.status != 503:
        return error
    wait = max(1, int(error.retry_after_s or RETRY_AFTER_S))
    return Unavailable(error.message, code=error.reason, retry_after_s=wait, **error.details)
