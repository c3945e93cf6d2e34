"""Every page carries a content security policy; only the admin theme may run inline scripts."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db


def policy(client, path: str) -> dict[str, str]:
    """The directives of the page's policy by name."""
    parts = (part.strip().partition(" ") for part in client.get(path)["Content-Security-Policy"].split(";"))
    return {name: sources for name, _, sources in parts}


@pytest.mark.parametrize("path", ["/", "/admin/login/", "/api/docs/", "/api/agents/", "/nowhere"])
def test_nothing_comes_from_elsewhere_and_nobody_frames_a_page(client, path):
    found = policy(client, path)
    assert found["default-src"] == "'self'" and found["frame-ancestors"] == "'none'"
    assert "http" not in " ".join(found.values())


def test_inline_scripts_run_under_admin_only(client):
    assert "script-src" not in policy(client, "/api/docs/")
    assert "'unsafe-inline'" in policy(client, "/admin/login/")["script-src"]
