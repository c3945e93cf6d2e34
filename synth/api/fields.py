"""Serializer pieces that refuse wrong types and unknown fields instead of guessing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


class Text(serializers.CharField):
    """A JSON string, kept as it is (no trimming)."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Texts(serializers.ListField):
    """A JSON list of strings."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=Text(allow_blank=True, max_length=800), max_length=200, **kwargs)


class Flag(serializers.BooleanField):
    """A JSON true or false, nothing that looks like one."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=repr(data)[:40])
        return data


@extend_schema_field(OpenApiTypes.DATETIME)
class Instant(serializers.DateTimeField):
    """An ISO 8601 date and time with an offset."""

    def to_internal_value(self, value: Any) -> datetime:
        try:
            found = parse_datetime(value) if isinstance(value, str) else None
            # In UTC: PostgreSQL refuses offsets of 16 hours and more, Python does not.
            at = found.astimezone(UTC) if found and found.utcoffset() is not None else None
        except (ValueError, OverflowError):
            at = None
        if at is None or not 1900 <= at.year <= 9998:
            raise serializers.ValidationError(
                "An ISO 8601 time with an offset is needed, for example 2026-05-04T09:00:00+02:00."
            )
        return at


class Strict(serializers.Serializer[Any]):
    """Refuses fields it does not know, and fields that cannot be set, by name."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            settable = {name for name, field in self.fields.items() if not field.read_only}
            unknown = sorted(str(name) for name in data if name not in settable)
            if unknown:
                raise serializers.ValidationError(
                    {unknown[0]: ["There is no such field, or it cannot be set."]}, code="unknown_field"
                )
        return super().to_internal_value(data)


class QuietHours(Strict):
    """Wall times between which nobody writes first."""

    start = Text(max_length=5)
    end = Text(max_length=5)
