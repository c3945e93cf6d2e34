"""The base of the core's REST views: the caller, a page of rows, a body that was checked."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from rest_framework.generics import GenericAPIView
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer

from synth.api.auth import caller_of
from synth.schemas import Caller


class Api(GenericAPIView[Any]):
    """A view for one noun; `keyset` names the order of its list (`synth.api.pagination`)."""

    keyset: tuple[str, ...] = ("-at", "-id")

    @property
    def caller(self) -> Caller:
        """Who calls, narrowed by their key."""
        return caller_of(self.request)

    def checked(self, serializer: type[Serializer[Any]], *, is_partial: bool = False) -> dict[str, Any]:
        """The body as the serializer reads it; ValidationError names the field."""
        reader = serializer(data=self.request.data, partial=is_partial)
        reader.is_valid(raise_exception=True)
        return dict(reader.validated_data)

    def page(self, rows: QuerySet[Any], serializer: type[BaseSerializer[Any]], **context: Any) -> Response:
        """One page of `rows`."""
        found = self.paginate_queryset(rows)
        return self.get_paginated_response(serializer(found or [], many=True, context=context).data)

    def shown(
        self, row: Model | Any, serializer: type[BaseSerializer[Any]], *, status: int = 200, **context: Any
    ) -> Response:
        """One row."""
        return Response(serializer(row, context=context).data, status=status)
