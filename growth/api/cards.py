"""`/api/agents/import/` and `/api/agents/{slug}/export/`: character cards, with the grown self in them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiRequest, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from growth import selectors
from growth.services import states
from synth.api.agents import AgentOut
from synth.api.base import Api
from synth.api.card_files import CardFileParser
from synth.api.fields import Strict, Text
from synth.api.idempotency import idempotent
from synth.api.permissions import IsOperator, agent_trained
from synth.errors import DomainError, Invalid
from synth.schemas import Caller
from synth.services import cards

if TYPE_CHECKING:
    from synth.models import Agent

DOOR = "rest"
_SLUG = OpenApiParameter("slug", OpenApiTypes.STR, description="of the new agent; else made from its name")
_FORMAT = OpenApiParameter("format", OpenApiTypes.STR, enum=cards.FORMATS, description="json where left out")
_FILE = {"type": "string", "format": "binary"}


class CardBody(Strict):
    """The file, in base64 as the parser gives it, and where wanted a slug."""

    file = serializers.CharField()
    slug = Text(max_length=64, required=False)


class ImportedOut(serializers.Serializer[Any]):
    """The agent, and what of its card could not be taken."""

    agent = AgentOut()
    warnings = serializers.ListField(child=serializers.CharField())


class CardImport(Api):
    """An agent out of a character card."""

    permission_classes = [IsOperator]
    parser_classes = [CardFileParser]
    serializer_class = ImportedOut
    pagination_class = None

    @extend_schema(
        operation_id="agents_import",
        parameters=[_SLUG],
        request={
            "application/json": OpenApiRequest({"type": "object", "additionalProperties": True}),
            "image/png": OpenApiRequest(_FILE),
            "application/zip": OpenApiRequest(_FILE),
            "multipart/form-data": OpenApiRequest(
                {
                    "type": "object",
                    "properties": {"file": _FILE, "slug": {"type": "string"}},
                    "required": ["file"],
                }
            ),
        },
        responses={201: ImportedOut},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Make an agent of a card: JSON (V1, V2, V3), PNG or CHARX, as the body or as the file of a form."""
        values = self.checked(CardBody)
        slug = values.get("slug") or request.query_params.get("slug", "")
        agent, warnings = _imported(_bytes(values["file"]), slug, self.caller)
        return self.shown({"agent": agent, "warnings": warnings}, ImportedOut, status=201, steered=None)


class _AnyFormat(DefaultContentNegotiation):
    """`?format=` names a form of the card here, not a renderer."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:  # noqa: A002 - the name is DRF's
        return renderers


class CardExport(Api):
    """An agent's character card."""

    content_negotiation_class = _AnyFormat
    pagination_class = None
    serializer_class = ImportedOut

    @extend_schema(
        operation_id="agents_export",
        parameters=[_FORMAT],
        responses={
            (200, "application/json"): OpenApiResponse({"type": "object", "additionalProperties": True}),
            (200, "image/png"): OpenApiTypes.BINARY,
            (200, "application/zip"): OpenApiTypes.BINARY,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """The card of an agent the caller steers, with its grown self in `extensions.synth`."""
        agent = agent_trained(self.caller, slug)
        form = request.query_params.get("format", "json")
        if form not in cards.FORMATS:
            raise Invalid(f"One of {', '.join(cards.FORMATS)} is needed.", field="format")
        made = cards.export_card(agent, form, _grown(agent))
        answer = HttpResponse(made.data, content_type=made.content_type)
        answer["Content-Disposition"] = f'attachment; filename="{made.filename}"'
        return answer


def _imported(raw: bytes, slug: str, caller: Caller) -> tuple[Agent, list[str]]:
    with transaction.atomic():
        made = cards.import_card(raw, slug=slug, by=caller.person, door=DOOR)
        warnings = made.warnings + _grow(made.agent, made.extension, caller)
    return made.agent, warnings


def _grow(agent: Agent, extension: Mapping[str, Any], caller: Caller) -> list[str]:
    """The self that a card brings along becomes the agent's first."""
    text = extension.get("self_growth")
    if text is None or text == "":
        return []
    try:
        with transaction.atomic():
            states.manual_edit(agent, content=text, by=caller.person, door=DOOR)
    except DomainError as error:
        return [f"extensions.synth.self_growth was passed over: {error.message}"]
    return []


def _grown(agent: Agent) -> dict[str, Any]:
    state = selectors.current(agent.pk)
    return {"self_growth": state.content if state else ""}


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("A file is needed.", field="file") from None
