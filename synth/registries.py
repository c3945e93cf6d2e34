"""The closed list of registries a higher app fills in `ready()`; each has a safe default when empty.

The core asks through these and never names the app that answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Named entries in the order they were added; a name added twice is a programming error."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> None:
        """Add one entry under a name of its app (`app.noun`)."""
        if name in self._entries:
            raise ValueError(f"{self.name} already has {name}")
        self._entries[name] = entry

    def get(self, name: str) -> T | None:
        """The entry of that name, or None."""
        return self._entries.get(name)

    def items(self) -> Iterator[tuple[str, T]]:
        """Names and entries, in the order they were added."""
        return iter(list(self._entries.items()))

    def __len__(self) -> int:
        return len(self._entries)


class AsgiRoutes(Registry[Any]):
    """Plain ASGI applications by path prefix, longest first."""

    def match(self, path: str) -> Any | None:
        """The application whose prefix begins `path`, or None for Django."""
        found = [prefix for prefix in self._entries if path.startswith(prefix)]
        return self._entries[max(found, key=len)] if found else None


approval_judges: Registry[Callable[..., Any]] = Registry("approval_judges")
recall_rerankers: Registry[Callable[..., Any]] = Registry("recall_rerankers")
turn_openers: Registry[Callable[..., str]] = Registry("turn_openers")
turn_observers: Registry[Callable[..., None]] = Registry("turn_observers")
toolkit_suggesters: Registry[Callable[..., Any]] = Registry("toolkit_suggesters")
model_runners: Registry[Callable[..., Any]] = Registry("model_runners")
erasers: Registry[Callable[..., dict[str, int]]] = Registry("erasers")
dashboard_panels: Registry[Callable[..., Any]] = Registry("dashboard_panels")
timeline_sources: Registry[Callable[..., Any]] = Registry("timeline_sources")
demo_seeders: Registry[Callable[..., None]] = Registry("demo_seeders")
asgi_routes = AsgiRoutes("asgi_routes")
