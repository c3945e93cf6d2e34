"""What the tests of deliveries start from: persons, a sender, nothing allowed by the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from reminders.models import Delivery
from reminders.services import dispatch
from synth.services import people

Send = Callable[..., Delivery]


@pytest.fixture(autouse=True)
def nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("WEBHOOK_ALLOW_PRIVATE", raising=False)
    yield


@pytest.fixture
def pia(db: None) -> Any:
    return people.ensure("pia")


@pytest.fixture
def send() -> Send:
    """Send in a transaction of its own."""

    def one(**values: Any) -> Delivery:
        given = {"kind": "system", "title": "Hello", "body": "A word.", "dedupe_key": "", **values}
        with transaction.atomic():
            return dispatch.send(**given)

    return one


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Webhooks may go to loopback."""
    monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", "*")
