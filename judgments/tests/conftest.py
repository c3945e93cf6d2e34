"""What the tests of judgments start from: declarations that are forgotten again, no settings around."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from judgments import options, registry
from judgments.services import later

NOUL = {"q": {"type": "noul", "instructions": "Is it raining?"}}
OPTIONS = {"b": None, "a": "the first", "c": None}
CHOICE = {"kind": {"type": "choice", "instructions": "Which?", "criteria": OPTIONS}}
SCORE = {"level": {"type": "score", "instructions": "How much?", "criteria": ["none", "some", "much"]}}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of System 1 is set; what a test declares, or handles, is forgotten."""
    for option in (*(o.name for o in options.MINE), "SYSTEM_ONE_HOST", "SYSTEM_ONE_KEY", "SYSTEM_ONE_MODEL"):
        monkeypatch.delenv(option, raising=False)
    monkeypatch.setattr(later, "HANDLERS", dict(later.HANDLERS))
    with registry.isolated():
        yield


@pytest.fixture
def rain() -> str:
    """A judgment with one noul."""
    registry.declare("weather.rain", questions=NOUL, positive="wet", negative="dry")
    return "weather.rain"


@pytest.fixture
def many() -> str:
    """A judgment with a question of each type."""
    registry.declare("weather.many", questions={**NOUL, **CHOICE, **SCORE})
    return "weather.many"


@pytest.fixture
def no_limits(settings) -> Iterator[None]:
    """Rates are tested where a test sets them."""
    settings.RATE_PER_KEY = settings.RATE_PER_ADDRESS = 0
    cache.clear()
    yield
    cache.clear()
