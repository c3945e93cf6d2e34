"""The page that checks this server's streams from the browser, through every proxy on the way."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from synth import selectors
from synth.api.auth import caller_of
from synth.pages.chat import LOGIN


@require_GET
@login_required(login_url=LOGIN)
def page(request: HttpRequest) -> HttpResponse:
    """One button that runs the checks, and the same requests as lines for curl."""
    agents = selectors.agents_seen(caller_of(request)).filter(archived_at=None).order_by("name")
    return render(request, "synth/conformance.html", {"agents": agents, "origin": _origin(request)})


def _origin(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"
