"""`POST /v1/chat/completions`: agents as models, for any client of the OpenAI API."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiRequest, OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from synth import selectors
from synth.api import errors
from synth.api.base import Api
from synth.api.dialogues import may_chat
from synth.api.handoff import handoff, is_fronted
from synth.api.idempotency import forget, once
from synth.api.openapi import REFUSALS
from synth.api.tickets import AnyAccept
from synth.errors import Conflict, DomainError, Unavailable
from synth.models import Agent, Message, MessageStatus
from synth.openai import body, chunks, frontends
from synth.openai.body import Asked, BadRequest
from synth.services import client_threads

_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}


class OpenAiErrorOut(serializers.Serializer[Any]):
    """The OpenAI API's own shape of an error: `{"error": {message, type, param, code}}`."""

    error = serializers.DictField()


class ChatCompletionsView(Api):
    """One turn with an agent."""

    serializer_class = OpenAiErrorOut
    pagination_class = None
    content_negotiation_class = AnyAccept

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return _in_openai_shape

    @extend_schema(
        operation_id="openai_chat_completions",
        request={
            "application/json": OpenApiRequest(
                {
                    "type": "object",
                    "required": ["model", "messages"],
                    "properties": {
                        "model": {"type": "string", "description": "`synth/<slug of an agent>`"},
                        "messages": {"type": "array", "items": _OBJECT, "minItems": 1},
                        "stream": {"type": "boolean"},
                    },
                    "additionalProperties": True,
                }
            )
        },
        responses={
            (200, "application/json"): OpenApiResponse(_OBJECT, description="a chat completion"),
            (200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, description="its chunks"),
            **dict.fromkeys(REFUSALS, OpenApiResponse(OpenAiErrorOut, description="in OpenAI's shape")),
        },
    )
    def post(self, request: Request) -> Response | HttpResponse:
        """Say the last message to an agent; `model` names it.

        What the client sent before is found in the dialogues here, or begins a new one. Its system message is
        a note below the agent's own self. Titles, tags and the like that frontends ask for themselves are
        answered by rule and leave no trace. A client that hangs up ends the answer.
        """
        may_chat(self.caller)
        asked = body.read(request.data)
        agent = self._agent(asked.slug)
        model = f"{body.PREFIX}{agent.slug}"
        if (chore := frontends.chore_of(asked)) is not None:
            return _at_once(asked, model, frontends.answer(chore, asked))
        if not is_fronted(request):
            raise Unavailable("This server cannot stream.", code="no_stream_here")
        answer = self._begun(agent, asked)
        kind = "openai-sse" if asked.is_stream else "openai-json"
        order = handoff(
            request, kind, answer=answer.pk, model=model, created=int(answer.at.timestamp()),
            wants_usage=asked.wants_usage,
        )  # fmt: skip
        assert order is not None
        return order

    def _begun(self, agent: Agent, asked: Asked) -> Message:
        """The place of the answer; with a known Idempotency-Key the answer it has, unless that failed."""

        begun: list[Message] = []

        def begin() -> Response:
            begun.append(client_threads.begin(self.caller, agent, asked).answer)
            return Response({"message": {"id": begun[0].pk}})

        kept = once(self.request, begin).data
        if not begun and self._of(kept).status == MessageStatus.FAILED:
            forget(self.request, kept)
            kept = once(self.request, begin).data
        return begun[0] if begun else self._of(kept)

    def _of(self, kept: Any) -> Message:
        answer = Message.objects.filter(pk=kept["message"]["id"]).first()
        if answer is None:
            raise Conflict("The dialogue was deleted meanwhile.", code="dialogue_gone")
        return answer

    def _agent(self, slug: str) -> Agent:
        found = None
        if slug and "\x00" not in slug:
            seen = selectors.agents_seen(self.caller).filter(archived_at=None)
            found = seen.filter(slug__iexact=slug).first()
        if found is None:
            raise BadRequest("There is no such model.", "model", "model_not_found")
        return found


def _at_once(asked: Asked, model: str, text: str) -> HttpResponse:
    """The whole of an answer that needed no turn."""
    end = {"message": {"content": text}, "finish_reason": "stop"}
    created = int(time.time())
    if not asked.is_stream:
        whole = json.dumps(chunks.completion(0, model, created, end, text), ensure_ascii=False)
        return HttpResponse(whole, content_type="application/json")
    teller = chunks.Teller(0, model, created, asked.wants_usage)
    frames = b"".join(teller.tell("message.end", end))
    return HttpResponse(
        frames,
        content_type="text/event-stream; charset=utf-8",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


def _in_openai_shape(exc: Exception, context: dict[str, Any]) -> Response:
    """Any error, said as OpenAI's clients read it; statuses and headers as everywhere else."""
    if isinstance(exc, BadRequest):
        status = 404 if exc.code == "model_not_found" else 400
        return Response({"error": chunks.refusal(status, str(exc), exc.code, exc.param)}, status=status)
    if isinstance(exc, DomainError) and exc.field == "content":
        exc.field = "messages"
    answer = errors.handler(exc, context)
    told = answer.data["error"]
    code = "invalid_api_key" if isinstance(exc, exceptions.NotAuthenticated) else told["code"]
    answer.data = {"error": chunks.refusal(answer.status_code, told["message"], code, told.get("field"))}
    return answer
