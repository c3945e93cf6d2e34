"""The world of the client tests, with a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from synth.testing.browser import PASSWORD, log_in
from synth.testing.browser import chromium as chromium  # noqa: PLC0414 - used by tests here
from synth.tests.clients.conftest import World
from synth.tests.clients.conftest import world as world  # noqa: PLC0414 - the fixture is used here too


@pytest.fixture
def open_as(chromium: Any, world: World) -> Iterator[Any]:
    """Opens the chat for a person of the tree in a fresh window; `width` 390 is a phone."""
    world.scripts.clear()  # those of the test before might answer this one's requests
    windows = []

    def open_window(username: str, width: int = 1280) -> Any:
        world.key(username)
        code = (
            f"from synth.models import Person; p = Person.objects.get(username='{username}'); "
            f"p.set_password('{PASSWORD}'); p.save()"
        )
        world.tree.manage("shell", "-c", code)
        window = chromium.new_context(viewport={"width": width, "height": 844}, base_url=world.url)
        windows.append(window)
        page = window.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on(
            "console",
            lambda said: page.problems.append(said.text) if "Content Security" in said.text else None,
        )
        log_in(page, username, at="/chat/", lands="/chat/")
        return page

    yield open_window
    for window in windows:
        window.close()
