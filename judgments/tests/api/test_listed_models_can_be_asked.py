"""`GET /v1/models` lists what answers: each name is accepted, with its version too; other names are 400."""

from __future__ import annotations

from typing import Any

import pytest

from judgments import heads
from judgments.services import serving, training
from judgments.tests.api.conftest import BODY, Wire

SHIPPED = [f"synth-{name}" for name in heads.shipped()]


def listed(wire: Wire) -> dict[str, dict[str, Any]]:
    body = wire.raw(b"", "/v1/models", "GET").json()
    assert [one["id"] for one in body["data"]] == [one["name"] for one in body["models"]]
    return {one["name"]: one for one in body["models"]}


def status(wire: Wire, model: str) -> int:
    return int(wire.ask({**BODY, "model": model}).status_code)


def test_shipped_heads_are_listed_beside_the_default_and_the_embedding(wire):
    assert list(listed(wire)) == ["jev-latest", *SHIPPED, "synth-embedding"]


def test_a_head_made_active_here_is_the_one_that_is_named(wire):
    data = heads.shipped()["growth.decision"] + b" "
    row = training.save("growth.decision", data, {})
    training.activate(row.name, row.version)
    found = listed(wire)
    assert len(found) == len(SHIPPED) + 2 and row.version in found["synth-growth.decision"]["description"]
    assert status(wire, f"synth-growth.decision@{row.version}") == 200
    old = heads.version_of(heads.shipped()["growth.decision"])
    assert status(wire, f"synth-growth.decision@{old}") == 400


def test_the_language_model_is_listed_where_one_is_named(wire, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_LM", "/models/small.gguf")
    assert "synth-lm" in listed(wire) and status(wire, "synth-lm") == 200


def test_every_listed_name_is_accepted_and_reaches_the_reader(wire, served):
    for name in listed(wire):
        assert status(wire, name) == 200, name
    assert {ask.model for ask in served.asks} == set(listed(wire))


@pytest.mark.parametrize(
    "model", ["synth-lm", "synth-growth.decision@00000000", "synth-", "synth-nothing", "", "JEV-LATEST"]
)
def test_other_names_are_400_and_ask_nobody(wire, served, model):
    answer = wire.ask({**BODY, "model": model})
    assert (answer.status_code, answer.json()["detail"]["error_type"]) == (400, "api_usage_error")
    assert not served.asks


def test_the_name_an_answer_gave_can_be_asked_for_again(wire):
    assert status(wire, "synth-systemone@1a2b3c4d") == 200


def test_where_another_host_answers_it_knows_its_own_names(wire, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_SERVED_BY", "http://127.0.0.1:9")
    assert list(listed(wire)) == ["jev-latest"]
    assert status(wire, "their-own") == 503


def test_clients_are_passed_on_as_our_own_asks_go_out(monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("SYSTEM_ONE_KEY", "k" * 20)
    monkeypatch.setenv("SYSTEM_ONE_DIALECT", "openai-decisions")
    monkeypatch.setenv("SYSTEM_ONE_AUTH_HEADER", "x-api-key")
    monkeypatch.setenv("SYSTEM_ONE_SERVED_BY", "http://127.0.0.1:9")
    host = serving.host_of("theirs")
    assert (host.dialect, host.auth_header, host.key, host.model) == (
        "openai-decisions", "x-api-key", "k" * 20, "theirs",
    )  # fmt: skip
    monkeypatch.setenv("SYSTEM_ONE_SERVED_BY", "http://127.0.0.2:9")
    assert serving.host_of("theirs").key == ""
