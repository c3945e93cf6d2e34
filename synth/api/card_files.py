"""Reads an uploaded file, as the body itself or as the field `file` of a form, up to a limit of its own."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, MultiPartParser

from synth.api.errors import TooLarge
from synth.services.cards import MAX_KIB

MAX_BYTES = MAX_KIB * 1024


class CardFileParser(BaseParser):
    """Gives `{"file": base64, "slug"?: text}`: text, so that an Idempotency-Key can tell requests apart."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise TooLarge()
        fields: dict[str, str] = {}
        if (media_type or "").lower().startswith("multipart/"):
            raw, fields = _of_form(raw, media_type or "", parser_context or {})
        return {**fields, "file": base64.b64encode(raw).decode()}


def _of_form(raw: bytes, media_type: str, context: Mapping[str, Any]) -> tuple[bytes, dict[str, str]]:
    meta = {**context["request"].META, "CONTENT_LENGTH": str(len(raw))}
    request = type("Form", (), {"META": meta, "upload_handlers": context["request"].upload_handlers})
    form = MultiPartParser().parse(io.BytesIO(raw), media_type, {**context, "request": request})
    upload = form.files.get("file")
    if upload is None:
        raise ParseError("The form has no field named file.")
    slug = form.data.get("slug", "")
    return upload.read(), {"slug": slug} if slug else {}
