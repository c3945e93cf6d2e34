"""Malformed requests: a 4xx that names the field, never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings
from rest_framework.test import APIClient

from synth.models import Agent

DIARY = "/api/agents/wren/diary/"


def post_raw(client: APIClient, body: Any, kind: str) -> Any:
    """Post bytes as they are; the stubs know only texts."""
    return client.generic("POST", DIARY, body, content_type=kind)


BAD_BODIES = [
    ("not json", b"{", None),
    ("empty", b"", "content"),
    ("a list", b"[]", None),
    ("a text", b'"x"', None),
    ("null", b"null", None),
    ("a number", b"12", None),
    ("NaN", b'{"content": NaN}', None),
    ("Infinity", b'{"content": Infinity}', None),
    ("a huge float", b'{"content": 1e999}', None),
    ("a huge int", b'{"content": ' + b"9" * 5000 + b"}", None),
    ("bad utf-8", b'{"content": "\xff"}', None),
    ("a doubled key", b'{"content": "a", "content": "b"}', "content"),
    ("NUL", b'{"content": "a\\u0000b"}', "content"),
    ("a lone surrogate", b'{"content": "\\ud800"}', "content"),
    ("NUL in a key", b'{"a\\u0000": 1, "content": "x"}', None),
    ("a surrogate key", b'{"\\udfff": 1, "content": "x"}', None),
    ("NUL in a list", b'{"content": "a", "tags": ["\\u0000"]}', "tags"),
    ("deep", b'{"content": ' + b"[" * 40 + b"]" * 40 + b"}", "content"),
    ("endlessly deep", b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", None),
    ("an unknown field", b'{"content": "a", "mood": "x"}', "mood"),
    ("a field that cannot be set", b'{"content": "a", "id": 3}', "id"),
    ("a number as text", b'{"content": 5}', "content"),
    ("a bool as text", b'{"content": true}', "content"),
    ("a list as text", b'{"content": ["a"]}', "content"),
    ("null as text", b'{"content": null}', "content"),
    ("blank", b'{"content": "  "}', "content"),
    ("text as a list", b'{"content": "a", "tags": "x"}', "tags"),
    ("numbers in a list", b'{"content": "a", "tags": [1]}', "tags.0"),
    ("an object in a list", b'{"content": "a", "people": [{}]}', "people.0"),
    ("an unknown source", b'{"content": "a", "source": "dream"}', "source"),
    ("a source of another type", b'{"content": "a", "source": {}}', "source"),
    ("a naive time", b'{"content": "a", "at": "2026-05-04T09:00:00"}', "at"),
    ("no time", b'{"content": "a", "at": "yesterday"}', "at"),
    ("a number as time", b'{"content": "a", "at": 5}', "at"),
    ("the first year", b'{"content": "a", "at": "0001-01-01T00:00:00+14:00"}', "at"),
    ("the last year", b'{"content": "a", "at": "9999-12-31T23:59:59-14:00"}', "at"),
    ("no such day", b'{"content": "a", "at": "2026-02-30T00:00:00Z"}', "at"),
    ("long", b'{"content": "' + b"x" * 65_537 + b'"}', "content"),
    ("long in bytes", json.dumps({"content": "é" * 40_000}).encode(), "content"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "field"), [case[1:] for case in BAD_BODIES], ids=[case[0] for case in BAD_BODIES]
)
def test_a_bad_diary_entry_is_refused(
    trainer: APIClient, agent: Agent, body: bytes, field: str | None
) -> None:
    answer = post_raw(trainer, body, "application/json")
    error = answer.json()["error"]
    assert answer.status_code == 400, error
    assert error["code"] and error["message"]
    if field:
        assert error["field"] == field
    assert not agent.diary.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timezone", "Mars/Base"), ("timezone", "../etc/passwd"), ("timezone", ""),
        ("timezone", "europe/rome"),
        ("language", "x"), ("language", "english!"), ("country", "XX"), ("country", "ITA"),
        ("quiet_hours", {"start": "22:00"}), ("quiet_hours", {"start": "24:00", "end": "07:00"}),
        ("quiet_hours", {"start": "07:00", "end": "07:00"}), ("quiet_hours", []), ("quiet_hours", "night"),
        ("quiet_hours", {"start": "22:00", "end": "07:00", "zone": "UTC"}),
        ("has_proactive_consent", "true"), ("has_proactive_consent", 1), ("has_proactive_consent", None),
        ("is_operator", True), ("is_minor", False), ("username", "root"), ("role", "operator"),
    ],
)  # fmt: skip
def test_a_bad_profile_is_refused_by_field(person: APIClient, field: str, value: Any) -> None:
    answer = person.patch("/api/me/", {field: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"].split(".")[0] == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("slug", "a b"), ("slug", "é"), ("slug", ""), ("slug", "-a"), ("slug", "x" * 65), ("slug", 5),
        ("name", " "), ("name", "x" * 101), ("likes", "tea"), ("likes", ["x" * 201]), ("likes", [["x"]]),
        ("timezone", "CEST"), ("model_overrides", {"draw": "x"}), ("model_overrides", []),
        ("model_overrides", {"chat": 1}), ("daily_token_cap", -1), ("daily_token_cap", 10**12),
        ("daily_token_cap", "5x"), ("daily_token_cap", 1.5), ("local_only", "yes"), ("trainers", "tara"),
    ],
)  # fmt: skip
def test_a_bad_agent_is_refused_by_field(operator: APIClient, field: str, value: Any) -> None:
    answer = operator.post("/api/agents/", {"slug": "x", "name": "X", field: value})
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["field"].split(".")[0] == field


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "limit=-1", "limit=" + "9" * 50, "limit=%D9%A3", "cursor=x",
     "cursor=%00",
     "cursor=" + "a" * 5000, "cursor=WzFd:abc"],
)  # fmt: skip
def test_a_bad_page_is_refused(trainer: APIClient, agent: Agent, query: str) -> None:
    answer = trainer.get(f"{DIARY}?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == query.split("=")[0]


@pytest.mark.parametrize("path", ["/api/dialogues/?agent=%00", "/api/agents/%00/", "/api/agents/w%00/diary/"])
def test_no_agent_is_named_by_nul(trainer: APIClient, path: str) -> None:
    assert trainer.get(path).status_code == 404


@pytest.mark.parametrize("query", ["purpose=x", "at=x", "at=2026-01-01T00:00:00", "dialogue=" + "9" * 100])
def test_a_bad_prompt_query_is_refused(trainer: APIClient, agent: Agent, query: str) -> None:
    assert trainer.get(f"/api/agents/wren/prompt/?{query}").status_code in (400, 404)


@pytest.mark.parametrize("at", ["2026-01-01T00:00:00%2B23:59", "2026-01-01T00:00:00-23:59"])
def test_an_offset_no_database_knows_is_read(trainer: APIClient, agent: Agent, at: str) -> None:
    assert trainer.get(f"/api/agents/wren/prompt/?at={at}").status_code == 200


def test_an_instant_that_leaves_the_calendar_in_utc_is_refused(trainer: APIClient, agent: Agent) -> None:
    for at in ("9998-12-31T23:00:00-23:00", "9999-12-31T23:00:00-23:00", "0001-01-01T00:00:00%2B23:00"):
        assert trainer.get(f"/api/agents/wren/prompt/?at={at}").status_code == 400


def test_a_query_of_the_schema_reaches_no_header(trainer: APIClient) -> None:
    answer = trainer.get("/api/schema/?version=%00%0a")
    assert answer.status_code == 200
    assert "\x00" not in answer.headers["Content-Disposition"]


def test_a_form_is_not_json(trainer: APIClient, agent: Agent) -> None:
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "nonsense",
    ):
        answer = post_raw(trainer, b"content=a", kind)
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type")


def test_a_large_body_is_413(trainer: APIClient, agent: Agent, settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = trainer.post(DIARY, {"content": "x" * 2000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_method_that_is_not_there_is_405(trainer: APIClient, agent: Agent) -> None:
    answer = trainer.delete(DIARY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize("path", ["schema", "docs", "me", "agents", "agents/wren", "agents/wren/diary"])
def test_options_and_head_never_break(trainer: APIClient, agent: Agent, path: str) -> None:
    for method in (trainer.options, trainer.head):
        assert method(f"/api/{path}/").status_code in (200, 405)


def test_an_answer_format_that_is_not_there_is_406(trainer: APIClient) -> None:
    answer = trainer.get("/api/me/", HTTP_ACCEPT="text/csv")
    assert (answer.status_code, answer.json()["error"]["code"]) == (406, "not_acceptable")


@pytest.mark.parametrize(
    "path", ["/api/", "/api", "/api/nothing", "/v1/nothing/", "/v1", "/api/agents/wren/nothing/"]
)
def test_a_path_that_is_not_there_is_json(db: None, path: str) -> None:
    for answer in (APIClient().get(path), APIClient().post(path, {})):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert ("type" in answer.json()["error"]) == path.startswith("/v1")


def test_a_bug_is_a_json_500_with_its_request_id(trainer: APIClient, agent: Agent, monkeypatch) -> None:
    from synth.services import diary

    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(diary, "write", broken)
    answer = trainer.post(DIARY, {"content": "x"})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert answer.json()["error"]["request_id"]
    assert "a bug" not in str(answer.content)
