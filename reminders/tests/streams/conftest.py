"""A web process and a person with a key, for the tests of inbox streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reminders.services import carrying
from synth import liveness
from synth.services import keys, people
from synth.tests.streams.served import Web

PATH = "/api/reminders/stream"


@pytest.fixture
def pia(transactional_db: None) -> Any:
    liveness.client().flushdb()
    return people.ensure("pia")


@pytest.fixture
def bearer(pia: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {keys.issue(pia, role='person').plain}"}


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One for all tests of a file; none of them may end it."""
    with Web(tmp_path_factory.mktemp("web") / "web.log") as running:
        yield running


@pytest.fixture
def own_web(transactional_db: None, tmp_path: Path) -> Iterator[Web]:
    """One that a test may kill."""
    with Web(tmp_path / "web.log") as running:
        yield running


@pytest.fixture
def deliver(pia: Any, send: Any) -> Any:
    """Put deliveries into pia's inbox."""

    def some(n: int = 1, **values: Any) -> None:
        for _ in range(n):
            send(**{"person": pia, **values})
        carrying.drain_all()

    return some
