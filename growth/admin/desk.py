"""The trainer's desk in the admin site: what waits for me, on its page, on the index and in the sidebar."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse
from django.utils.timezone import now

from growth.admin.base import StewardAdmin
from growth.models import Proposal
from growth.services import desk_page
from synth import selectors
from synth.admin.base import steward

MAX_BADGE = 99


def context(model_admin: StewardAdmin, request: HttpRequest) -> dict[str, Any]:
    """What the desk shows this person. `after` in the address is the last proposal of the page before."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    after = request.GET.get("after", "")
    last = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else 0
    agents = selectors.agents_trained(steward(request))
    return desk_page.desk(agents, at=now(), after=last)


def n_waiting(request: HttpRequest) -> int:
    """How many proposals wait for this person, counted up to a hundred; 0 for people without a desk."""
    try:
        agents = selectors.agents_trained(steward(request))
    except PermissionDenied:
        return 0
    return desk_page.n_waiting(agents, now(), MAX_BADGE + 1)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The navigation: the desk with its number first, then every page of the site this person may open."""
    if not _has_desk(request):
        return _apps(request)
    item: dict[str, Any] = {"title": "Trainer's desk", "icon": "inbox", "link": reverse("admin:growth_desk")}
    if n := n_waiting(request):
        item |= {"badge": str(n) if n <= MAX_BADGE else f"{MAX_BADGE}+", "badge_variant": "primary"}
    return [{"items": [item]}, *_apps(request)]


def on_index(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The first page of the site says what waits."""
    if _has_desk(request):
        n = n_waiting(request)
        context["desk"] = {"n": n, "is_many": n > MAX_BADGE, "most": MAX_BADGE}
    return context


def _has_desk(request: HttpRequest) -> bool:
    return admin.site._registry[Proposal].has_module_permission(request)


def _apps(request: HttpRequest) -> list[dict[str, Any]]:
    desk = reverse("admin:growth_desk")
    here = "" if request.path == desk else request.path
    return [
        {
            "title": app["name"],
            "separator": True,
            "collapsible": False,
            "items": [
                {
                    "title": model["name"],
                    "link": model["admin_url"],
                    # The desk lies below the address of the proposals.
                    "active": here.startswith(model["admin_url"]),
                }
                for model in app["models"]
                if model["admin_url"]
            ],
        }
        for app in admin.site.get_app_list(request)
    ]
