"""The content security policy of every page: nothing is loaded from elsewhere, nobody frames us."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

HEADER = "Content-Security-Policy"
POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
# The theme of the admin site evaluates expressions that stand in attributes, and so needs both.
ADMIN = f"{POLICY}; script-src 'self' 'unsafe-inline' 'unsafe-eval'"


class ContentSecurityPolicy:
    """Middleware that adds the policy to answers that bring none of their own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault(HEADER, ADMIN if request.path.startswith("/admin/") else POLICY)
        return response
