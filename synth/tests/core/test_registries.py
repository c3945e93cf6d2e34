"""Registries hold one entry a name, in order, and answer nothing when empty."""

from __future__ import annotations

import pytest

from synth import registries
from synth.registries import AsgiRoutes, Registry

CLOSED_LIST = {
    "approval_judges", "recall_rerankers", "turn_openers", "turn_observers", "toolkit_suggesters",
    "model_runners", "erasers", "dashboard_panels", "timeline_sources", "demo_seeders", "asgi_routes",
}  # fmt: skip


def test_the_list_of_registries_is_closed():
    found = {name: entry for name, entry in vars(registries).items() if isinstance(entry, Registry)}
    assert set(found) == CLOSED_LIST
    assert all(entry.name == name for name, entry in found.items())


def test_entries_keep_their_order_and_names_are_unique():
    registry: Registry[int] = Registry("test")
    registry.add("b.one", 1)
    registry.add("a.two", 2)
    assert list(registry.items()) == [("b.one", 1), ("a.two", 2)]
    assert (registry.get("a.two"), registry.get("c"), len(registry)) == (2, None, 2)
    with pytest.raises(ValueError, match="already"):
        registry.add("a.two", 3)


def test_the_longest_prefix_answers_a_path():
    routes = AsgiRoutes("test")
    assert routes.match("/api/stream/") is None
    routes.add("/api/stream/", "all")
    routes.add("/api/stream/inbox/", "inbox")
    assert routes.match("/api/stream/inbox/7") == "inbox"
    assert routes.match("/api/stream/x") == "all"
    assert routes.match("/api/agents/") is None
