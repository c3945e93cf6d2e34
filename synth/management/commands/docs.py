"""`manage.py docs`: writes the generated pages of `docs/`; `--check` only says which are out of date."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from synth.background import TICKS
from synth.docs_pages import DOCS, background, configuration, lifecycle, privacy
from synth.services import outbox

PAGES: dict[str, Callable[[], str]] = {
    "configuration.md": configuration.page,
    "lifecycle.md": lifecycle.page,
}


class Command(BaseCommand):
    """Writes docs/configuration.md and docs/lifecycle.md from the code."""

    help = "Write the generated pages of docs/ (configuration, lifecycle), or check all pages with --check."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--check` writes nothing and fails when a page does not match the code."""
        parser.add_argument("--check", action="store_true", help="write nothing; fail on a drifted page")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or compare every page."""
        if options["check"]:
            return self._check()
        for name, page in PAGES.items():
            (DOCS / name).write_text(page(), encoding="utf-8")
            self.stdout.write(f"wrote docs/{name}")

    def _check(self) -> None:
        found = [f"docs/{name} has drifted; run manage.py docs" for name in PAGES if not is_current(name)]
        found += privacy.problems() + background.problems(TICKS, _subscriptions())
        if found:
            raise CommandError("\n".join(found))
        self.stdout.write("docs match the code")


def _subscriptions() -> list[tuple[str, str]]:
    return [(subscription.event, name) for name, subscription in outbox.HANDLERS.items()]


def is_current(name: str) -> bool:
    """True when the stored page is what the code would write now."""
    path = DOCS / name
    return path.is_file() and path.read_text(encoding="utf-8") == PAGES[name]()
