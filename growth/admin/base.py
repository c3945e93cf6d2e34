"""What growth's admin pages share: rows of agents a person trains, the viewer's zone, pages of our own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.template.response import SimpleTemplateResponse
from django.utils import timezone

from growth.clock import zone_of
from synth.admin.base import READS, CoreAdmin, steward
from synth.services import audit

DOOR = "admin"
P = ParamSpec("P")


def in_viewers_zone(
    view: Callable[Concatenate[Any, HttpRequest, P], Any],
) -> Callable[..., Any]:
    """A view whose page shows times in the zone of whoever looks at it; rendered before that ends."""

    @wraps(view)
    def wrapped(self: Any, request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            zone = zone_of(getattr(request.user, "timezone", "UTC"))
        except ValueError:
            zone = zone_of("UTC")
        with timezone.override(zone):
            response = view(self, request, *args, **kwargs)
            if isinstance(response, SimpleTemplateResponse):
                response.render()
            return response

    return wrapped


class StewardAdmin(CoreAdmin):
    """Rows of agents the person trains; nothing is added or deleted by hand."""

    agent_path = "agent"
    list_select_related = ["agent"]
    show_facets = admin.ShowFacets.NEVER  # facets would count
    # By key: it is indexed, and new rows come last in it.
    ordering = ["-id"]
    # What an empty list tells to do next.
    empty_hint = ""
    list_before_template = "growth/list_hint.html"

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def found(self, request: HttpRequest, pk: int) -> Any:
        """The row, if this person may steer its agent; 404 otherwise. A refused press is audited."""
        may_look = self.has_view_permission(request)
        rows = self.get_queryset(request).select_related("agent").filter(pk=pk)
        row = rows.first() if may_look else None
        if row is None:
            _note_refused(request)
            raise Http404 if may_look else PermissionDenied
        return row

    def shown(self, request: HttpRequest, object_id: str | None) -> Any:
        """The row of a page's address, or None; Django then answers as it does for any missing row."""
        if object_id is None or not (object_id.isascii() and object_id.isdigit() and len(object_id) < 19):
            return None
        if not self.has_view_permission(request):
            return None
        return self.get_queryset(request).select_related("agent").filter(pk=object_id).first()

    @in_viewers_zone
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, extra_context)

    @in_viewers_zone
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        return super().changeform_view(request, object_id, form_url, extra_context)


def _note_refused(request: HttpRequest) -> None:
    """Who pressed what they may not press; reading leaves no entry."""
    if request.method not in READS:
        match = request.resolver_match
        action = str(match.url_name) if match else "post"
        audit.record_refused(
            me(request), door=DOOR, action=action, object=request.path[:150], reason="not_allowed"
        )


def me(request: HttpRequest) -> Any:
    """The person who is logged in."""
    return steward(request).person


def typed(request: HttpRequest, field: str) -> str:
    """A posted text with the line ends of our own texts; browsers send others."""
    return request.POST.get(field, "").replace("\r\n", "\n")
