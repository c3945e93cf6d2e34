"""A real Chromium for tests: fixtures to import into a conftest. Skips where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PASSWORD = "a long word for tests"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser.

    Its loop runs in this thread while it is open, which Django would take for asynchronous code.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright")
    if not CHROMIUM.exists():
        pytest.skip("no Chromium")
    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        yield browser
        browser.close()


def log_in(page: Any, username: str, *, at: str, lands: str) -> None:
    """Through the login form that `at` leads to; whose password is not PASSWORD does not land."""
    page.set_default_timeout(20_000)
    page.goto(at)
    page.fill("input[name=username]", username)
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(f"**{lands}")


@pytest.fixture
def open_admin_as(chromium: Any, live_server: Any) -> Iterator[Callable[..., Any]]:
    """A page of a fresh browser window at the admin site of the live server, logged in as a person."""
    windows = []

    def open_window(person: Any, width: int = 1440, **options: Any) -> Any:
        person.set_password(PASSWORD)
        person.save(update_fields=["password"])
        size = {"width": width, "height": 900}
        window = chromium.new_context(viewport=size, base_url=live_server.url, **options)
        windows.append(window)
        page = window.new_page()
        log_in(page, person.username, at="/admin/login/", lands="/admin/")
        return page

    yield open_window
    for window in windows:
        window.close()
