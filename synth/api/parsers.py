"""One strict JSON object a body, or an error: no doubled keys, NaN, NUL, lone surrogates, endless depth."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from synth.api.errors import TooLarge

MAX_DEPTH = 32
# Beyond what PostgreSQL's widest integer and a float hold, a number is a mistake.
MAX_DIGITS = 30
SURROGATE = re.compile("[\ud800-\udfff]")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValidationError({key: ["This key stands twice in the object."]}, code="duplicate_key")
        found[key] = value
    return found


def _constant(name: str) -> Any:
    raise ParseError(f"{name} is not JSON.")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ParseError("A number has too many digits.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ParseError("A number is too large.")
    return value


def loads(raw: bytes) -> dict[str, Any]:
    """The object in `raw` (UTF-8). ParseError or ValidationError otherwise."""
    try:
        value = json.loads(
            raw.decode("utf-8-sig"),
            object_pairs_hook=_pairs,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except RecursionError:
        raise ParseError("The body is nested too deeply.") from None
    except ValueError as error:
        raise ParseError(f"The body is not JSON: {error}"[:200]) from None
    if not isinstance(value, dict):
        raise ParseError("The body must be one JSON object.")
    for field, inner in value.items():
        check_text(field, "")
        _walk(inner, field, 1)
    return value


def check_text(text: str, field: str) -> None:
    """ValidationError for what PostgreSQL or UTF-8 cannot hold."""
    if "\x00" in text:
        raise ValidationError({field or "body": ["NUL characters are not allowed."]}, code="nul_character")
    if SURROGATE.search(text):
        raise ValidationError({field or "body": ["Lone surrogates are not allowed."]}, code="lone_surrogate")


def _walk(value: Any, field: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValidationError({field: ["This is nested too deeply."]}, code="too_deep")
    if isinstance(value, str):
        check_text(value, field)
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_text(key, field)
            _walk(inner, field, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, field, depth + 1)


class StrictJSONParser(BaseParser):
    """The default parser of the REST API."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        declared = str(getattr(stream, "META", {}).get("CONTENT_LENGTH") or "0")
        if declared.isdigit() and int(declared) > limit:
            raise TooLarge()
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge()
        return loads(raw)
