"""What is wrong with an installation is named by a stable id before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys
import zoneinfo
from pathlib import Path

import pytest
import redis as redis_client

from synth import checks, liveness

ROOT = Path(__file__).resolve().parents[3]


def ids(messages) -> list[str]:
    return [message.id for message in messages]


@pytest.mark.django_db
def test_the_stores_of_the_tests_are_fine():
    assert ids(checks.postgresql(databases=["default"])) == []
    assert ids(checks.redis(databases=["default"])) == []


def test_stores_are_asked_only_on_request():
    assert checks.postgresql() == []
    assert checks.redis() == []


@pytest.mark.django_db
def test_an_old_postgresql_without_trigrams_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "OLDEST_POSTGRESQL", 990000)
    assert ids(checks.postgresql(databases=["default"])) == ["synth.E002"]


class FakeRedis:
    def __init__(self, answer):
        self.answer = answer

    def config_get(self, name):
        if isinstance(self.answer, Exception):
            raise self.answer
        return {name: self.answer}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("noeviction", []),
        ("allkeys-lru", ["synth.W002"]),
        (redis_client.ConnectionError("away"), ["synth.W001"]),
        (redis_client.ResponseError("unknown command CONFIG"), []),
    ],
)
def test_a_redis_that_evicts_is_warned_of(monkeypatch, answer, expected):
    monkeypatch.setattr(liveness, "client", lambda: FakeRedis(answer))
    assert ids(checks.redis(databases=["default"])) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [("short", ["synth.E004"]), ("a" * 80, ["synth.E004"]), ("aB3$" + "0123456789abcdef" * 4, [])],
)
def test_a_weak_secret_key_is_refused_for_production(settings, key, expected):
    settings.SECRET_KEY = key
    assert ids(checks.secret_key()) == expected


@pytest.mark.parametrize(
    ("is_on", "bind", "expected"),
    [
        (True, "127.0.0.1", []),
        (True, "localhost", []),
        (True, "::1", []),
        (True, "0.0.0.0", ["synth.E005"]),
        (True, "example.org", ["synth.E005"]),
        (False, "0.0.0.0", []),
    ],
)
def test_debug_pages_for_others_are_refused(settings, is_on, bind, expected):
    settings.DEBUG, settings.BIND = is_on, bind
    assert ids(checks.debug()) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (None, []),
        ("https://host.example/v1", []),
        ("http://127.0.0.1:8080/v1", []),
        ("http://ollama:11434/v1", []),
        ("http://host.example/v1", ["synth.W004"]),
        ("https://user:pw@host.example/v1", ["synth.W003"]),
        ("host.example/v1", []),
        ("host.example:8443/v1", []),
        (" localhost:11434 ", []),
        ("https://host.example/v1?key=1", []),
        ("https://user@host.example/v1", ["synth.W003"]),
        ("ftp://host.example", ["synth.E006"]),
        ("https://", ["synth.E006"]),
        ("http://[::1/v1", ["synth.E006"]),
        ("https://host.example:port/v1", ["synth.E006"]),
    ],
)
def test_the_language_model_host_is_an_address(settings, url, expected):
    settings.LLM_BASE_URL, settings.LLM_API_KEY = url, "key"
    assert ids(checks.language_model_host()) == expected


@pytest.mark.parametrize(("path", "expected"), [(None, ["synth.W006"]), ("/models/small", [])])
def test_a_local_language_model_has_a_path(settings, path, expected):
    settings.LLM_BASE_URL, settings.LLM_LOCAL_MODEL = "local", path
    assert ids(checks.language_model_host()) == expected


def test_an_unknown_fault_point_is_refused_and_a_known_one_is_warned_of(monkeypatch):
    monkeypatch.setenv("SYNTH_FAULT", "nowhere")
    assert ids(checks.fault_point()) == ["synth.E007"]
    monkeypatch.setenv("SYNTH_FAULT", "outbox.claim.after:2")
    assert ids(checks.fault_point()) == ["synth.W005"]


def test_a_missing_time_zone_database_is_refused(monkeypatch):
    assert checks.time_zones() == []
    monkeypatch.setattr(zoneinfo, "available_timezones", lambda: {"UTC"})
    assert ids(checks.time_zones()) == ["synth.E008"]


def test_the_production_check_is_clean():
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {
        "PYTHONPATH": path,
        "SECRET_KEY": "x9" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
        "BEHIND_TLS": "true",
        "ALLOWED_HOSTS": "synth.example",
        "LLM_BASE_URL": "https://host.example/v1",
    }
    run = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
