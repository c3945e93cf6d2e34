"""Lists a client can page through while rows arrive: keyset cursors, `{next, previous, results}`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

if TYPE_CHECKING:
    # At run time this would be a circle: rest_framework.views reads the settings that name this module.
    from rest_framework.views import APIView

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_CURSOR_CHARS = 500


def read_limit(request: Request) -> int:
    """`?limit=` from 1 to 200, default 50; ValidationError otherwise."""
    raw = request.query_params.get("limit", str(DEFAULT_LIMIT))
    if not (raw.isascii() and raw.isdigit() and len(raw) < 10 and 1 <= int(raw) <= MAX_LIMIT):
        raise ValidationError({"limit": [f"A whole number from 1 to {MAX_LIMIT} is needed."]})
    return int(raw)


def _plain(value: Any) -> Any:
    """A column's value as JSON can hold it."""
    if isinstance(value, datetime):
        return {"at": value.isoformat()}
    return str(value) if isinstance(value, UUID) else value


class KeysetPagination(BasePagination):
    """Pages by one or two columns in one direction, the last of them unique.

    A view names them in `keyset`, `("-at", "-id")` (the default) or `("slug",)` for example. A cursor is
    signed, names its order and its place, and holds whatever rows arrive or leave.
    """

    keyset: tuple[str, ...] = ("-at", "-id")

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        self.keyset = getattr(view, "keyset", self.keyset)
        self.columns = [name.lstrip("-") for name in self.keyset]
        self.url = request.build_absolute_uri()
        limit = read_limit(request)
        place, is_back = self._read(request.query_params.get("cursor"))
        rows = self._rows(queryset, place, is_back)[: limit + 1]
        found = list(rows)
        has_more = len(found) > limit
        page = found[:limit][::-1] if is_back else found[:limit]
        has_next, has_previous = (
            (bool(page), has_more) if is_back else (has_more, place is not None and bool(page))
        )
        self.next_url = self._link(page[-1], is_back=False) if has_next else None
        self.previous_url = self._link(page[0], is_back=True) if has_previous else None
        return page

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self.next_url, "previous": self.previous_url, "results": data})

    def _rows(self, queryset: QuerySet[Any], place: list[Any] | None, is_back: bool) -> QuerySet[Any]:
        is_descending = self.keyset[0].startswith("-") != is_back
        queryset = queryset.order_by(*[f"-{name}" if is_descending else name for name in self.columns])
        if place is None:
            return queryset
        past = "lt" if is_descending else "gt"
        if len(self.columns) == 1:
            return queryset.filter(**{f"{self.columns[0]}__{past}": place[0]})
        first, second = self.columns
        tied = Q(**{first: place[0], f"{second}__{past}": place[1]})
        # The plain bound lets PostgreSQL start the index scan at the cursor's place.
        bound = Q(**{f"{first}__{past}e": place[0]})
        return queryset.filter(bound, Q(**{f"{first}__{past}": place[0]}) | tied)

    def _signer(self) -> signing.Signer:
        return signing.Signer(salt=f"synth.cursor:{','.join(self.keyset)}")

    def _link(self, row: Model | dict[str, Any], *, is_back: bool) -> str:
        values = [row[name] if isinstance(row, dict) else getattr(row, name) for name in self.columns]
        place = [_plain(value) for value in values]
        return replace_query_param(self.url, "cursor", self._signer().sign_object([place, is_back]))

    def _read(self, cursor: str | None) -> tuple[list[Any] | None, bool]:
        if cursor is None:
            return None, False
        try:
            if len(cursor) > MAX_CURSOR_CHARS or not cursor.isascii():
                raise signing.BadSignature
            place, is_back = self._signer().unsign_object(cursor)
        except signing.BadSignature:
            raise ValidationError({"cursor": ["This cursor is not one of this list."]}) from None
        values = [datetime.fromisoformat(v["at"]) if isinstance(v, dict) else v for v in place]
        return values, bool(is_back)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [
            {
                "name": "limit",
                "in": "query",
                "required": False,
                "description": "Rows a page",
                "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
            },
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "From `next` or `previous`",
                "schema": {"type": "string"},
            },
        ]
