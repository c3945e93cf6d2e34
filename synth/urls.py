"""Every address of the web process; higher apps are named by dotted string only."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views import defaults
from django.views.generic import RedirectView

from synth.api.errors import is_api_path, plain_json
from synth.api.urls import nothing_here

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(url="/admin/")),
    path("", include("synth.health")),
    path("", include("synth.pages.urls")),
    path("favicon.ico", RedirectView.as_view(url="/static/synth/favicon.svg")),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", admin.site.urls),
    path("api/", include("growth.api.urls")),  # before the core: agents/import is no agent's slug
    path("api/", include("synth.api.urls")),
    path("api/", include("judgments.api.urls")),
    path("api/", include("reminders.api.urls")),
    # Several clients add their own v1 to an address that has one.
    re_path(r"^v1/(?:v1/)?", include("synth.api.urls_v1")),
    re_path(r"^v1/(?:v1/)?", include("judgments.api.urls_v1")),
    re_path(r"^(?:api|v1)(?:/|$)", nothing_here),
]


def handler400(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """A request Django itself calls malformed."""
    if is_api_path(request.path):
        return plain_json(request, 400, "The request is malformed.")
    return defaults.bad_request(request, exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """A path nobody answers."""
    if is_api_path(request.path):
        return plain_json(request, 404, "There is no such path.")
    return defaults.page_not_found(request, exception)


def handler500(request: HttpRequest) -> HttpResponseBase:
    """A failure outside of any REST view, for example in a middleware."""
    if is_api_path(request.path):
        return plain_json(request, 500, "Something broke; the log has the cause.")
    return defaults.server_error(request)
