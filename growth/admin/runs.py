"""Every cycle in the admin site: how far it is (live), what it wrote, each call, each verdict."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from growth.admin.base import StewardAdmin
from growth.models import GrowthRun
from growth.services import page
from synth.admin.base import AgentFilter


@admin.register(GrowthRun)
class GrowthRunAdmin(StewardAdmin):
    """Every cycle: how far it is, what it wrote, what the guards said, what it rests on."""

    list_display = ["created_at", "agent", "trigger", "status", "reason", "writer", "n_calls"]
    is_read_only = True
    list_filter = ["status", "trigger", AgentFilter]
    empty_hint = "No agent has reflected yet. Open Growth settings, an agent, and press “Reflect now”."
    page_template = "growth/run_page.html"

    def page_context(self, request: HttpRequest, row: GrowthRun) -> dict[str, Any]:
        return page.run_page(row)

    def get_urls(self) -> list[URLPattern]:
        progress = self.admin_site.admin_view(self.progress_view)
        return [
            path("<int:pk>/progress/", progress, name="growth_run_progress"),
            *super().get_urls(),
        ]

    @method_decorator(require_safe)
    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Where a cycle is, for the script of its page."""
        return JsonResponse(page.run_progress(self.found(request, pk)))
