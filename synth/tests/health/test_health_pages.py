"""The health pages say what is wrong, within two seconds, to anybody, and are never cached."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils.timezone import now
from django_celery_beat.models import PeriodicTask

from synth import background, health, liveness, probes
from synth.models import EventHandling, LlmCall, OutboxEvent, Tick

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Probes that remember nothing, an old process, and no living roles."""

    def forget():
        for probe in (probes.database, probes.redis, probes.backlog):
            probe.forget()

    forget()
    for role in liveness.ROLES:
        liveness.client().delete(f"synth:alive:{role}")
    monkeypatch.setattr(health, "_started", time.monotonic() - 3600)
    background.ensure_ticks()
    for name in background.TICKS:
        Tick.objects.create(name=name, started_at=now(), finished_at=now())
    yield forget
    forget()
    for role in liveness.ROLES:
        liveness.leave(role)


def ask(view) -> tuple[int, dict[str, Any]]:
    response = view(RequestFactory().get("/x"))
    assert "no-store" in response["Cache-Control"]
    return response.status_code, json.loads(response.content)


def codes(body: dict[str, Any]) -> set[str]:
    return {cause["code"] for cause in body["causes"]}


def all_alive():
    for role in ("worker", "beat"):
        liveness.sign(role)


def test_all_is_well_when_stores_worker_and_beat_are_up():
    all_alive()
    assert ask(health.healthz) == (
        200,
        {"status": "ok", "roles": {"web": 1, "worker": 1, "torch": 0, "beat": 1}, "causes": []},
    )


@pytest.mark.parametrize("role", ["worker", "beat"])
def test_a_missing_role_is_a_cause(role):
    all_alive()
    liveness.leave(role)
    status, body = ask(health.healthz)
    assert (status, body["status"], codes(body)) == (503, "degraded", {f"{role}_down"})


def test_a_young_process_says_starting(monkeypatch):
    monkeypatch.setattr(health, "_started", time.monotonic())
    status, body = ask(health.healthz)
    assert (status, body["status"]) == (503, "starting")


def test_missing_migrations_are_a_cause_of_both_pages(monkeypatch):
    all_alive()
    monkeypatch.setattr(probes.database, "_ask", lambda: ["synth.0002_next"])
    status, body = ask(health.healthz)
    assert (status, body["status"], codes(body)) == (503, "starting", {"migrations_missing"})
    status, body = ask(health.readyz)
    assert (status, codes(body)) == (503, {"migrations_missing"})


def test_the_test_database_has_all_migrations():
    assert probes.ask_database() == []


def test_this_process_can_serve_without_worker_and_beat():
    status, body = ask(health.readyz)
    assert (status, body["status"]) == (200, "ready")
    assert codes(body) == {"worker_down", "beat_down"}


def test_a_redis_that_is_away_is_named(settings, fresh):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    status, body = ask(health.healthz)
    assert (status, codes(body)) == (503, {"redis_down"})


@pytest.mark.parametrize(("store", "code"), [("database", "database_down"), ("redis", "redis_down")])
def test_a_store_that_hangs_is_named_within_two_seconds(monkeypatch, store, code):
    go_on = threading.Event()
    n_threads = threading.active_count()
    monkeypatch.setattr(getattr(probes, store), "_ask", lambda: go_on.wait(30))
    try:
        for _ in range(3):
            began = time.monotonic()
            status, body = ask(health.healthz)
            assert time.monotonic() - began < 2.5
            assert status == 503
            assert code in codes(body)
        assert threading.active_count() <= n_threads + 4, "one asks, the others wait for it"
    finally:
        go_on.set()


def test_old_rows_silent_ticks_and_parked_events_are_causes():
    all_alive()
    event = OutboxEvent.objects.create(name="test.happened")
    due_at = now() - timedelta(minutes=10)
    EventHandling.objects.create(event=event, handler="t.old", due_at=due_at)
    EventHandling.objects.create(event=event, handler="t.parked", due_at=due_at, status="parked")
    Tick.objects.filter(name="synth.drain_outbox").update(started_at=now() - timedelta(minutes=10))
    Tick.objects.filter(name="synth.prune_outbox").update(error="ValueError: bad")
    status, body = ask(health.readyz)
    assert status == 200
    assert codes(body) >= {"rows_waiting", "events_parked", "tick_silent", "tick_failed"}


def test_a_tick_an_admin_switched_off_is_named():
    PeriodicTask.objects.filter(name="synth.prune_outbox").update(enabled=False)
    assert "tick_off" in codes(ask(health.readyz)[1])


def test_metrics_have_queues_ticks_roles_and_calls():
    all_alive()
    LlmCall.objects.create(purpose="reflection", backend="openai", outcome="ok")
    event = OutboxEvent.objects.create(name="test.happened")
    EventHandling.objects.create(event=event, handler="t.old", due_at=now() - timedelta(minutes=1))
    text = health.metrics(RequestFactory().get("/metrics")).content.decode()
    assert 'synth_queue_rows{kind="due",queue="outbox"} 1.0' in text
    assert 'synth_llm_calls_last_hour{outcome="ok",purpose="reflection"} 1.0' in text
    assert 'synth_processes{role="worker"} 1.0' in text
    assert 'synth_tick_age_seconds{tick="synth.drain_outbox"}' in text
    assert "synth_events_parked 0.0" in text


def test_metrics_come_without_the_stores(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    text = health.metrics(RequestFactory().get("/metrics")).content.decode()
    assert 'synth_store_up{store="redis"} 0.0' in text
    assert "synth_processes{" not in text


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_nothing_but_reading_is_allowed(method):
    request = getattr(RequestFactory(), method)("/healthz")
    assert health.healthz(request).status_code == 405


@pytest.mark.parametrize("path", ["/healthz", "/readyz/", "/metrics"])
def test_the_pages_need_no_login_and_open_no_session(client, path):
    all_alive()
    response = client.get(path)
    assert response.status_code == 200
    assert not response.cookies


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics/"])
def test_probes_may_call_the_server_by_any_name_and_without_tls(client, settings, path):
    all_alive()
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["synth.example"], True
    assert client.get(path, headers={"host": "127.0.0.1:8000"}).status_code == 200
    assert client.get("/api/agents/", headers={"host": "127.0.0.1:8000"}).status_code == 400
