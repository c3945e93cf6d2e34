"""What the admin pages of judgments share: a page of ours inside the site, filters that ask no big table."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

from judgments import registry
from synth.admin.base import ReadOnly, steward


class Records(ReadOnly):
    """Rows nobody edits, shown to operators only, newest first, without a count."""

    show_facets = admin.ShowFacets.NEVER
    ordering = ["-at", "-id"]

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def look(self, request: HttpRequest) -> None:
        """PermissionDenied for everybody but operators."""
        if not self.has_view_permission(request):
            raise PermissionDenied


class JudgmentFilter(admin.SimpleListFilter):
    """Declared judgments, and what clients of our server ask."""

    title = "judgment"
    parameter_name = "judgment"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = [declaration.name for declaration in registry.all_declared()]
        return [(name, name) for name in [*names, "served.systemone", "served.decisions"]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(judgment=value) if value else queryset


def me(request: HttpRequest) -> Any:
    """The person who is logged in."""
    return steward(request).person
