"""A server of System One whose reader is scripted, and keys for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from synth.services import keys, people

NOUL = {"type": "noul", "instructions": "Is the customer asking for money back?"}
CHOICE = {"type": "choice", "instructions": "Which team?", "criteria": {"Billing": None, "Sales": "prices"}}
SCORE = {"type": "score", "instructions": "How angry?", "criteria": ["calm", "cross", "furious"]}
BODY = {"model": "jev-latest", "state": "I want my money back.", "questions": {"q": NOUL}}


class Wire:
    """A client with a key."""

    def __init__(self, key: str | None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {key}"} if key else {}

    def raw(self, body: bytes, path: str = "/v1/systemone", method: str = "POST", **headers: str) -> Any:
        """Send bytes as they are."""
        kind = headers.pop("content_type", "application/json")
        return self.client.generic(method, path, body, content_type=kind, **{**self.headers, **headers})

    def ask(self, body: Any = BODY, **more: Any) -> Any:
        """Send JSON."""
        return self.raw(json.dumps(body).encode(), **more)


@pytest.fixture
def served(judgments, monkeypatch, no_limits) -> Any:
    """The scripted reader behind the server; `answer("served.systemone", …)` says what it reads."""
    monkeypatch.setenv("SYSTEM_ONE_SERVED_BY", "scripted")
    return judgments


@pytest.fixture
def key(db: None) -> Any:
    return keys.issue(people.ensure("frontend"), role="app", scopes=["systemone"])


@pytest.fixture
def wire(served, key) -> Wire:
    return Wire(key.plain)


@pytest.fixture
def nobody(served) -> Wire:
    return Wire(None)
