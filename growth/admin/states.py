"""Every kept self in the admin site: what it rests on, compared with another, and the way back to it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST, require_safe

from growth import selectors
from growth.admin.base import DOOR, StewardAdmin, in_viewers_zone, me
from growth.models import GrowthState
from growth.services import history_page, page, states
from synth.admin.base import AgentFilter
from synth.errors import DomainError

MOVED = "Meanwhile another self became the current one. Look again before you go back."


@admin.register(GrowthState)
class GrowthStateAdmin(StewardAdmin):
    """Every kept self, compared with any other, with the button to go back to it."""

    list_display = ["created_at", "agent", "source", "is_current", "beginning"]
    is_read_only = True
    list_filter = ["is_current", "source", AgentFilter]
    empty_hint = "No agent has a self yet. Open Growth settings, an agent, and press “Reflect now”."
    page_template = "growth/state_page.html"

    @admin.display(description="text")
    def beginning(self, row: GrowthState) -> str:
        """The first words."""
        return row.content[:80]

    def page_context(self, request: HttpRequest, row: GrowthState) -> dict[str, Any]:
        other = self.shown(request, request.GET.get("with"))
        return page.state_page(row, other if other and other.agent_id == row.agent_id else None)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/restore/", view(self.restore_view), name="growth_restore"),
            path("<int:pk>/restore/confirm/", view(self.confirm_view), name="growth_restore_confirm"),
            *super().get_urls(),
        ]

    @method_decorator(require_safe)
    @in_viewers_zone
    def confirm_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What going back would change, with the button that does it."""
        return self._confirm(request, self.found(request, pk))

    @method_decorator(require_POST)
    @in_viewers_zone
    def restore_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make this self current again, text and lists; asked anew when the current one moved."""
        row: GrowthState = self.found(request, pk)
        current = selectors.current(row.agent_id)
        seen = request.POST.get("current", "")
        if seen and seen != str(current.pk if current else 0):
            return self._confirm(request, row, MOVED, status=409)
        try:
            state = states.restore(row.pk, by=me(request), door=DOOR)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:growth_growthstate_changelist")
        self.message_user(request, "Restored as a new current self.", messages.SUCCESS)
        return redirect("admin:growth_growthstate_change", state.pk)

    def _confirm(
        self, request: HttpRequest, row: GrowthState, warning: str = "", status: int = 200
    ) -> HttpResponse:
        context = history_page.restore_page(row)
        return self.render(
            request, "growth/restore_page.html", "Go back to an earlier self", status, original=row,
            warning=warning, **context,
        )  # fmt: skip
