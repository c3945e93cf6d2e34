"""Every error code stands in the one table, and each can really be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils.timezone import now
from rest_framework.test import APIClient

from synth.codes import CODES
from synth.errors import DomainError
from synth.models import Agent, Dialogue, EventHandling, IdempotentAnswer, OutboxEvent
from synth.rowqueue import leases
from synth.services import agents, cards, dialogues, fields, keys, memories, outbox, people
from synth.testing import errors_raised

CORE = Path(__file__).resolve().parents[2]
CLI: dict[str, Any] = {"by": None, "door": "command"}
# Proved by the tests of chat and of streams.
CHAT = {
    "already_ended",
    "already_labelled",
    "approval_decided",
    "approval_expired",
    "approval_not_found",
    "approval_open",
    "chat_full",
    "grant_not_found",
    "invalid_ticket",
    "no_stream_here",
    "not_automatic",
    "turn_ended",
    "unknown_scope",
    "check_in_closed",
    "message_not_found",
    "scope_missing",
    "too_many_turns",
    "turn_running",
    "unknown_toolkit",
}


def test_what_is_raised_stands_in_the_table_and_nothing_else_does():
    assert errors_raised.codes(CORE) == set(CODES)


def test_messages_are_sentences():
    said = errors_raised.messages(CORE)
    assert said and [one for one in said if not errors_raised.is_sentence(one[1])] == []


def twice(act: Callable[[], Any]) -> None:
    act()
    act()


def of_service(agent: Agent) -> dict[str, Callable[[], Any]]:
    """Ways to the codes that services raise."""
    old, last = people.ensure("old"), people.make_operator(people.ensure("only"), **CLI)
    people.archive(old, **CLI)
    key = keys.issue(last, role="operator").key
    event = OutboxEvent.objects.create(name="test.happened")
    handling = EventHandling.objects.create(event=event, handler="t.h", due_at=now())
    lost = EventHandling.objects.get(pk=handling.pk)
    lost.attempt = 9
    return {
        "agent_archived": lambda: twice(lambda: agents.archive(agent, **CLI)),
        "agent_not_archived": lambda: twice(lambda: agents.unarchive(agent, **CLI)),
        "already_revoked": lambda: twice(lambda: keys.revoke(key, **CLI)),
        "bad_characters": lambda: memories.write(agent, text="a\x00"),
        "bad_kind": lambda: memories.write(agent, text="a", kind="Two Words"),
        "bad_card": lambda: cards.import_card(b"{}", by=None, door="command"),
        "bad_name": lambda: memories.write(agent, text="a", name="/"),
        "bad_tags": lambda: memories.write(agent, text="a", tags=["x" * 101]),
        "blank": lambda: memories.write(agent, text=" "),
        "dialogue_gone": lambda: dialogues.archive(Dialogue(agent=agent, person=last)),
        "last_operator": lambda: people.remove_operator(last, **CLI),
        "lease_lost": lambda: leases.guarded(lost, error="x"),
        "name_taken": lambda: twice(lambda: memories.write(agent, text="a", name="tea")),
        "not_operator": lambda: people.remove_operator(people.ensure("plain"), **CLI),
        "not_parked": lambda: outbox.retry_parked(handling.pk, by=last),
        "own_account": lambda: people.archive(last, by=last, door="admin"),
        "person_archived": lambda: keys.issue(old, role="person"),
        "role_exceeds_person": lambda: keys.issue(people.ensure("plain"), role="operator"),
        "slug_reserved": lambda: agents.create(slug="me", name="X"),
        "slug_taken": lambda: agents.create(slug=agent.slug, name="X"),
        "too_long": lambda: fields.items([str(n) for n in range(201)], "likes"),
        "unknown_country": lambda: fields.country("XX"),
        "unknown_language": lambda: fields.language("?"),
        "unknown_timezone": lambda: fields.zone("Mars/Base"),
    }


def of_rest(operator: APIClient) -> dict[str, Callable[[], Any]]:
    """Ways to the codes that only a request meets."""

    def post(raw: str, **headers: str) -> Any:
        return operator.post("/api/agents/wren/diary/", raw, content_type="application/json", headers=headers)

    def reuse() -> Any:
        post('{"content": "a"}', **{"Idempotency-Key": "k"})
        return post('{"content": "b"}', **{"Idempotency-Key": "k"})

    def ask_again() -> Any:
        def ask() -> Any:
            url = "/api/judgments/approvals.allow/ask/"
            return operator.post(url, {"state": "x"}, format="json", headers={"Idempotency-Key": "a"})

        ask()
        IdempotentAnswer.objects.filter(key="a").update(status=0)  # as while the first is at work
        return ask()

    return {
        "agent_not_found": lambda: operator.get("/api/agents/nobody/"),
        "dialogue_not_found": lambda: operator.get("/api/agents/wren/prompt/?dialogue=nothing"),
        "duplicate_key": lambda: post('{"content": "a", "content": "b"}'),
        "idempotency_key_reused": reuse,
        "invalid_key": lambda: APIClient().get("/api/me/", headers={"authorization": "Bearer no"}),
        "lone_surrogate": lambda: post('{"content": "\\ud83d"}'),
        "nul_character": lambda: post('{"content": "\\u0000"}'),
        "request_running": ask_again,
        "person_not_found": lambda: operator.get("/api/agents/wren/memories/?about=nobody"),
        "too_deep": lambda: post('{"content": ' + "[" * 40 + "]" * 40 + "}"),
        "unknown_field": lambda: post('{"content": "a", "mood": "b"}'),
    }


def test_every_way_leads_to_its_code(agent, callers, operator):
    found = {code: way().json()["error"]["code"] for code, way in of_rest(operator).items()}
    assert {code: given for code, given in found.items() if code != given} == {}
    callers.operator.delete()
    ways = of_service(agent)
    for code, way in ways.items():
        with pytest.raises(DomainError) as caught:
            way()
        assert caught.value.code == code
    assert {*found, *ways} == set(CODES) - CHAT


def test_the_codes_of_chat_have_tests_of_their_own():
    folders = (CORE / "tests" / name for name in ("chat", "streams"))
    text = "".join(path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py"))
    assert [code for code in sorted(CHAT) if f'"{code}"' not in text] == []
