"""Every role at every endpoint of the core; a new endpoint must be added here."""

from __future__ import annotations

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from synth.models import Agent, Approval, ApprovalGrant, Dialogue, Message
from synth.services import dialogues

ROLES = ("operator", "trainer", "other_trainer", "person", "app", "anonymous")
BODIES: dict[str, dict[str, Any]] = {
    "post /api/agents/": {"slug": "made", "name": "Made"},
    "patch /api/agents/{slug}/": {"name": "Renamed"},
    "post /api/agents/{slug}/diary/": {"content": "A day."},
    "post /api/agents/{slug}/memories/": {"text": "A thing."},
    "patch /api/me/": {"language": "it"},
    "post /api/agents/import/": {"name": "Carded", "description": "From a card."},
    "post /v1/chat/completions/": {
        "model": "synth/wren",
        "messages": [{"role": "user", "content": "Hello?"}],
    },
}
# `wren` is open to all and trained by `trainer`; `minato` is reserved and trained by `other_trainer`.
OPEN: dict[str, tuple[int, ...]] = {
    "get /api/me/": (200, 200, 200, 200, 200, 401),
    "patch /api/me/": (200, 200, 200, 200, 200, 401),
    "get /api/agents/": (200, 200, 200, 200, 200, 401),
    "post /api/agents/": (201, 403, 403, 403, 403, 401),
    "get /api/agents/{slug}/": (200, 200, 200, 200, 200, 401),
    "patch /api/agents/{slug}/": (200, 200, 403, 403, 403, 401),
    "get /api/agents/{slug}/prompt/": (200, 200, 403, 403, 403, 401),
    "get /api/agents/{slug}/diary/": (200, 200, 403, 403, 403, 401),
    "post /api/agents/{slug}/diary/": (201, 201, 403, 403, 403, 401),
    "get /api/agents/{slug}/memories/": (200, 200, 403, 403, 403, 401),
    "post /api/agents/{slug}/memories/": (201, 201, 403, 403, 403, 401),
    "post /api/agents/import/": (201, 403, 403, 403, 403, 401),
    "get /api/agents/{slug}/export/": (200, 200, 403, 403, 403, 401),
    # Streams need the front that these tests do without.
    "post /v1/chat/completions/": (503, 503, 503, 503, 503, 401),
    "post /api/stream-tickets/": (201, 201, 201, 201, 201, 401),
}
RESERVED = {
    "get /api/agents/{slug}/": (200, 404, 200, 404, 404, 401),
    "patch /api/agents/{slug}/": (200, 404, 200, 404, 404, 401),
    "get /api/agents/{slug}/prompt/": (200, 404, 200, 404, 404, 401),
    "get /api/agents/{slug}/diary/": (200, 404, 200, 404, 404, 401),
    "post /api/agents/{slug}/diary/": (201, 404, 201, 404, 404, 401),
    "get /api/agents/{slug}/memories/": (200, 404, 200, 404, 404, 401),
    "post /api/agents/{slug}/memories/": (201, 404, 201, 404, 404, 401),
    "get /api/agents/{slug}/export/": (200, 404, 200, 404, 404, 401),
}
# A dialogue of `person`, for whom `app` acts; no language model is configured.
OWN = {
    "get /api/dialogues/": (200, 200, 200, 200, 200, 401),
    "post /api/dialogues/": (201, 201, 201, 201, 201, 401),
    "get /api/dialogues/{dialogue_id}/": (404, 404, 404, 200, 200, 401),
    "patch /api/dialogues/{dialogue_id}/": (404, 404, 404, 200, 200, 401),
    "delete /api/dialogues/{dialogue_id}/": (404, 404, 404, 200, 404, 401),
    "get /api/dialogues/{dialogue_id}/messages/": (404, 404, 404, 200, 200, 401),
    "post /api/chat/": (404, 404, 404, 503, 503, 401),
    "get /api/chat/stream/": (400, 400, 400, 400, 400, 401),
    "post /api/chat/stream/": (503, 503, 503, 503, 503, 401),
    "get /api/chat/{message_id}/": (404, 404, 404, 200, 200, 401),
    "post /api/chat/{message_id}/stop/": (404, 404, 404, 409, 409, 401),
    "post /api/chat/{message_id}/check-in/": (404, 404, 404, 409, 409, 401),
    "get /api/toolkits/": (200, 200, 200, 200, 200, 401),
    "get /api/approvals/": (200, 200, 200, 200, 200, 401),
    "get /api/approvals/{approval_id}/": (200, 404, 404, 200, 200, 401),
    "post /api/approvals/{approval_id}/decide/": (409, 404, 404, 409, 409, 401),
    "post /api/approvals/{approval_id}/should-have-asked/": (422, 404, 404, 422, 422, 401),
    "get /api/approvals/grants/": (200, 200, 200, 200, 200, 401),
    "post /api/approvals/grants/{grant_id}/revoke/": (200, 404, 404, 409, 409, 401),
}
CASES = [
    pytest.param(call, slug, dict(zip(ROLES, expected, strict=True)), id=f"{call} {slug}")
    for slug, table in (("wren", OPEN), ("minato", RESERVED))
    for call, expected in table.items()
]


def clients(callers: Any) -> dict[str, APIClient]:
    made = {
        role: callers.client(getattr(callers, role), "trainer" if "trainer" in role else role)
        for role in ("operator", "trainer", "other_trainer", "person")
    }
    return {
        **made,
        "app": callers.client(callers.service, "app", HTTP_X_PERSON="pia"),
        "anonymous": APIClient(),
    }


@pytest.mark.parametrize(("call", "slug", "expected"), CASES)
def test_each_role_gets_what_the_table_says(
    callers, agent: Agent, other_agent: Agent, call: str, slug: str, expected: dict[str, int]
) -> None:
    method, path = call.split(" ")
    url = path.replace("{slug}", slug)
    got = {
        role: getattr(client, method)(url, BODIES.get(call)).status_code
        for role, client in clients(callers).items()
    }
    assert got == expected


def test_the_table_names_every_endpoint_of_the_core() -> None:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    core = {
        f"{method} {path}"
        for path, operations in paths.items()
        for method, operation in operations.items()
        if not operation["operationId"].startswith(("growth", "inbox", "judgment", "reminders"))
    }
    assert core - set(OPEN) - set(OWN) == set()


def asked_in(dialogue: Dialogue) -> dict[str, str]:
    """A decided question of the dialogue's person, and a grant of theirs."""
    said = Message.objects.create(dialogue=dialogue, role="assistant")
    values = {"agent": dialogue.agent, "person": dialogue.person}
    row = Approval.objects.create(
        **values, dialogue=dialogue, answer=said, call_id="1", action="memory_forget", status="allowed",
        expires_at=said.at,
    )  # fmt: skip
    grant = ApprovalGrant.objects.create(**values, key="memory_forget:{}")
    return {"{approval_id}": str(row.pk), "{grant_id}": str(grant.pk), "{message_id}": str(said.pk)}


@pytest.mark.parametrize(("call", "expected"), OWN.items())
def test_dialogues_are_private_to_their_person(
    callers, agent: Agent, call: str, expected: tuple[int, ...]
) -> None:
    row = dialogues.create(agent, callers.person)
    dialogue = str(row.pk)
    ids = {"{dialogue_id}": dialogue, **asked_in(row)}
    method, path = call.split(" ")
    body = {
        "post /api/dialogues/": {"agent": "wren"},
        "patch /api/dialogues/{dialogue_id}/": {"title": "New"},
        "post /api/chat/": {"dialogue": dialogue, "content": "Hello?"},
        "post /api/chat/stream/": {"dialogue": dialogue, "content": "Hello?"},
        "post /api/chat/{message_id}/check-in/": {"choice": "stop"},
        "post /api/approvals/{approval_id}/decide/": {"decision": "deny"},
    }.get(call)
    for name, value in ids.items():
        path = path.replace(name, value)
    got = {role: getattr(client, method)(path, body).status_code for role, client in clients(callers).items()}
    assert got == dict(zip(ROLES, expected, strict=True))


def test_lists_show_only_what_may_be_seen(callers, agent: Agent, other_agent: Agent) -> None:
    seen = {
        role: [row["slug"] for row in client.get("/api/agents/").json()["results"]]
        for role, client in clients(callers).items()
        if role != "anonymous"
    }
    assert seen == {
        "operator": ["minato", "wren"], "trainer": ["wren"], "other_trainer": ["minato", "wren"],
        "person": ["wren"], "app": ["wren"],
    }  # fmt: skip
    full = {
        row["slug"]: "persona" in row
        for row in clients(callers)["other_trainer"].get("/api/agents/").json()["results"]
    }
    assert full == {"minato": True, "wren": False}
