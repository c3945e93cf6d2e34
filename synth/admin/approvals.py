"""Approvals in the admin site: what agents ask to be allowed, decided by the same service as everywhere."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from synth.admin.base import AgentFilter, ReadOnly, ValueFilter, steward
from synth.errors import DomainError
from synth.models import Approval, ApprovalGrant, ApprovalStatus, Door
from synth.services import approval_grants, approvals


class StatusFilter(ValueFilter):
    """What became of it."""

    title = "status"
    parameter_name = "status"
    values = tuple(ApprovalStatus.values)


@admin.register(Approval)
class ApprovalAdmin(ReadOnly):
    """Questions: an operator sees all, a trainer those they may answer."""

    agent_path = "agent"
    list_display = ("at", "agent", "person", "action", "status", "decision", "decided_by", "expires_at")
    list_select_related = ("agent", "person", "decided_by")
    list_filter = (StatusFilter, AgentFilter)
    ordering = ("-at", "-id")
    page_template = "synth/approval_page.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Approval]:
        # Not all of an agent's: what it asks a person in their dialogue is between the two.
        return approvals.seen(steward(request)).order_by("-at", "-id")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<uuid:pk>/decide/", view(self.decide_view), name="synth_approval_decide"),
            path("<uuid:pk>/should-have-asked/", view(self.regret_view), name="synth_approval_regret"),
            *super().get_urls(),
        ]

    def page_context(self, request: HttpRequest, row: Approval) -> dict[str, Any]:
        return _shown(request, row)

    def shown(self, request: HttpRequest, object_id: str | None) -> Approval:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            pk = UUID(object_id or "")
        except ValueError:
            raise Http404 from None
        row = self.get_queryset(request).filter(pk=pk).first()
        if row is None:
            raise Http404
        return row

    @method_decorator(require_POST)
    def decide_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """The button that was pressed, with its scope."""
        row = self.shown(request, str(pk))
        scope = request.POST.get("scope", "0")
        index = int(scope) if scope.isascii() and scope.isdigit() and len(scope) < 4 else -1
        try:
            decision = request.POST.get("decision", "")
            approvals.decide(row.pk, decision, by=steward(request), scope=index, door=Door.ADMIN)
            messages.success(request, "Decided; the agent goes on.")
        except DomainError as error:
            messages.error(request, error.message)
        return redirect("admin:synth_approval_change", row.pk)

    @method_decorator(require_POST)
    def regret_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """System 1 should have asked."""
        row = self.shown(request, str(pk))
        try:
            approvals.should_have_asked(row.pk, by=steward(request), door=Door.ADMIN)
            messages.success(request, "Noted; it counts against the rule that allowed it.")
        except DomainError as error:
            messages.error(request, error.message)
        return redirect("admin:synth_approval_change", row.pk)


def _shown(request: HttpRequest, row: Approval) -> dict[str, Any]:
    """What the page shows besides the row's own columns."""
    may = approvals.may_decide(steward(request), row)
    is_auto = row.status == ApprovalStatus.ALLOWED and row.decided_door == "judge"
    return {
        "arguments": json.dumps(row.arguments, ensure_ascii=False, indent=1),
        "gates": json.dumps(row.gates, ensure_ascii=False, indent=1) if row.gates else "",
        "may_decide": may and row.status == ApprovalStatus.PENDING,
        "may_regret": may and is_auto and approvals.REGRETTED not in row.gates,
    }


@admin.register(ApprovalGrant)
class GrantAdmin(ReadOnly):
    """What persons allowed for longer; an action takes it back."""

    list_display = ("at", "agent", "person", "dialogue_id", "text", "revoked_at")
    list_select_related = ("agent", "person")
    ordering = ("-at", "-id")
    fields = ("agent", "person", "dialogue_id", "key", "text", "approval", "at", "revoked_at")
    readonly_fields = fields
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.action(description="Take back", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApprovalGrant]) -> None:
        by = steward(request)
        self.each(request, queryset, lambda row: approval_grants.revoke(row.pk, by=by, door=str(Door.ADMIN)))
