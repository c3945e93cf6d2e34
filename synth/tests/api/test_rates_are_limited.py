"""Limits per key and per address, and no harm when Redis is away."""

from __future__ import annotations

from django.conf import LazySettings
from rest_framework.test import APIClient

from synth.api import throttles


def test_a_key_over_its_rate_waits(person: APIClient, callers, settings: LazySettings) -> None:
    settings.RATE_PER_KEY = 3
    statuses = [person.get("/api/me/").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    answer = person.get("/api/me/")
    assert 1 <= int(answer.headers["Retry-After"]) <= 61
    assert answer.json()["error"]["code"] == "throttled"
    assert callers.client(callers.trainer, "trainer").get("/api/me/").status_code == 200


def test_an_address_without_a_good_key_is_limited(db: None, settings: LazySettings) -> None:
    settings.RATE_PER_ADDRESS = 2
    guesses = [APIClient().get("/api/me/", HTTP_AUTHORIZATION="Bearer guess").status_code for _ in range(3)]
    assert guesses == [401, 401, 429]
    assert APIClient().get("/api/me/", REMOTE_ADDR="10.0.0.9").status_code == 401


def test_without_redis_nothing_is_limited(person: APIClient, settings: LazySettings, monkeypatch) -> None:
    settings.RATE_PER_KEY = 1
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nobody listens there
    monkeypatch.setitem(throttles._pause, "until", 0.0)
    assert [person.get("/api/me/").status_code for _ in range(3)] == [200, 200, 200]
    monkeypatch.setitem(throttles._pause, "until", 0.0)
