"""A word said in a dialogue, wherever it was copied to, is nowhere once the dialogue is deleted."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.utils import timezone
from pydantic import BaseModel
from rest_framework.test import APIClient

from judgments.services import labels
from reminders.services import carrying, dispatch
from synth import actions, liveness, registries
from synth.actions import Action, Outcome
from synth.chat.scopes import Scope
from synth.services import agents, approvals, dialogues, draining, keys, people, sittings
from synth.services import dialogue_deletion as deletion
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.asking import caller
from synth.tests.chat.conftest import call

pytestmark = pytest.mark.django_db(transaction=True)
Dialogue: Any = apps.get_model("synth.Dialogue")
DiaryEntry: Any = apps.get_model("synth.DiaryEntry")
# What must have held the word, or the search proves nothing.
HOLDERS = """
    synth_dialogue synth_message synth_approval synth_approvalgrant synth_auditentry synth_idempotentanswer
    synth_llmcall synth_promptpart synth_diaryentry judgments_run judgments_runevent reminders_delivery
""".split()


class Bell(BaseModel, extra="forbid"):
    """A word to ring with."""

    word: str


def tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('%I', table_name) FROM information_schema.tables "
            "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        return [name for (name,) in cursor.fetchall()]


def holders(word: str) -> set[str]:
    """Tables with a row that holds the word in any column: as text, in JSON, or as bytes."""
    patterns = [f"%{word}%", f"%{word.encode().hex()}%"]
    found = set()
    with connection.cursor() as cursor:
        for table in tables():
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table} t WHERE t::text ILIKE ANY(%s))", [patterns])
            if cursor.fetchone()[0]:
                found.add(table)
    return found


def streams() -> list[str]:
    """Redis keys of answers."""
    found: Any = liveness.client().keys("chat:*:[0-9]*")
    return sorted(found)


@pytest.fixture
def word() -> str:
    return f"zq{secrets.token_hex(6)}"


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for key in streams():
        liveness.client().delete(key)
    actions.register(
        Action(
            "bell_ring",
            "Rings.",
            lambda turn, asked: Outcome(f"The bell rang for {asked.word}."),
            arguments=Bell,
            risk="needs_approval",
            diff=lambda turn, asked: f"+ {asked.word}",
            scopes=lambda asked: [Scope(f"word:{asked.word}", f"Any ring for {asked.word}.")],
        )
    )
    yield
    actions.unregister("bell_ring")


@pytest.fixture
def client(db: None) -> APIClient:
    client = APIClient()
    token = keys.issue(people.ensure("pia"), role="person").plain
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def post(client: APIClient, url: str, body: Any) -> Any:
    return client.post(url, body, format="json", headers={"Idempotency-Key": secrets.token_hex(8)}).json()


def lived(client: APIClient, word: str, judgments: Any) -> Any:
    """A dialogue in which the word went everywhere it can go."""
    agents.create(slug="wren", name="Wren")
    judgments.answer("approvals.allow", 0.2)
    judgments.mode("approvals.allow", "audit")
    begun = post(client, "/api/dialogues/", {"agent": "wren", "title": f"About {word}"})
    strange = call(f"ring_{word}", {"word": word})
    ring = {"content": f"I ring for {word}.", "tool_calls": [strange, call("bell_ring", {"word": word})]}
    with ScriptedHost([ring, f"It rang for {word}."]) as host, host.installed():
        post(client, "/api/chat/", {"dialogue": begun["id"], "content": f"Ring for {word}."})
        draining.drain()
        carrying.drain_all()
        decide(client, begun["id"])
        resume()
    proactive(begun["id"], word)
    with ScriptedHost([f"Pia wanted a ring for {word}."]) as host, host.installed():
        client.patch(f"/api/dialogues/{begun['id']}/", {"archived": True}, format="json")
        sittings.end_due(timezone.now())
        sittings.run_waiting()
    draining.drain()
    judgments.wait()
    asked = apps.get_model("synth.Approval").objects.get()
    assert labels.label(asked.judgment_run, f"about {word}", by="pia")
    return Dialogue.objects.get(pk=begun["id"])


def decide(client: APIClient, dialogue: str) -> None:
    """Allow it for always, and have the card in the inbox answered, each with a key."""
    approval = client.get(f"/api/approvals/?dialogue={dialogue}").json()["results"][0]
    url = f"/api/approvals/{approval['id']}/decide/"
    assert post(client, url, {"decision": "allow_always", "scope": 1})["status"] == "allowed"


def resume() -> None:
    """What a worker does with the turn that waits."""
    from synth.rowqueue import leases
    from synth.services import turns

    Message = apps.get_model("synth.Message")  # noqa: N806 - a model
    (row,) = leases.claim(Message.objects.filter(status="streaming", lease_until=None), at=timezone.now())
    turns.run(row)


def proactive(dialogue: str, word: str) -> None:
    with transaction.atomic():
        dispatch.send(
            kind="proactive", title="A thought", body=f"I still think of {word}.", metadata={"about": word},
            interface_path=f"dialogue/{dialogue}", dedupe_key="thought",
        )  # fmt: skip
    carrying.drain_all()


def test_nothing_holds_the_word_afterwards(client, word, bell, judgments):
    row = lived(client, word, judgments)
    before = holders(word)
    assert set(HOLDERS) <= before and streams()
    receipt = client.delete(f"/api/dialogues/{row.pk}/").json()["removed"]
    assert holders(word) == set() and streams() == []
    assert receipt["synth.Dialogue"] == 1
    named = {label.lower().replace(".", "_") for label in receipt}
    assert before <= named, "the receipt names every table that held it"


def test_time_takes_the_words_and_leaves_the_agent_its_diary(client, word, bell, judgments, monkeypatch):
    row = lived(client, word, judgments)
    monkeypatch.setenv("DIALOGUE_RETENTION_DAYS", "30")
    from synth.services import dialogue_retention

    dialogue_retention.sweep(timezone.now() + timedelta(days=31))
    assert not Dialogue.objects.filter(pk=row.pk).exists() and streams() == []
    assert holders(word) == {"synth_diaryentry", "synth_approvalgrant"}
    assert word in DiaryEntry.objects.get().content


def test_an_erased_person_leaves_no_copies_of_their_words(client, word, bell, judgments):
    from synth.services import erase

    lived(client, word, judgments)
    erase.erase_person("pia", at=timezone.now())
    assert holders(word) == set() and streams() == []


def test_a_question_that_never_ended_keeps_its_dialogue(client, word, bell, judgments, monkeypatch):
    monkeypatch.setattr(registries.approval_judges, "_entries", {})
    agents.create(slug="wren", name="Wren")
    begun = post(client, "/api/dialogues/", {"agent": "wren"})
    with ScriptedHost([{"tool_calls": [call("bell_ring", {"word": word})]}]) as host, host.installed():
        post(client, "/api/chat/", {"dialogue": begun["id"], "content": "Ring."})
    refused = client.delete(f"/api/dialogues/{begun['id']}/")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "approval_open")
    approval = apps.get_model("synth.Approval").objects.get()
    approvals.decide(approval.pk, "deny", by=caller(approval.person), door="rest")
    assert client.delete(f"/api/dialogues/{begun['id']}/").json()["error"]["code"] == "turn_running"


def test_what_is_written_for_a_dialogue_that_is_gone_goes_too(client, word, judgments):
    """An observer of its last turn that comes late."""
    agent = agents.create(slug="wren", name="Wren")
    row = dialogues.create(agent, people.ensure("pia"))
    gone = Dialogue.objects.get(pk=row.pk)
    dialogues.delete(row)
    run = apps.get_model("judgments.LaterAsk")
    run.objects.create(
        judgment="toolkit.suggest", state={"state": word, "quotes": []}, session_id=dialogues.session(gone),
        due_at=timezone.now(),
    )  # fmt: skip
    assert holders(word) == {"judgments_laterask"}
    deletion.forget_if_gone(gone)
    assert holders(word) == set()
