"""After an erase nothing of the person is in any column of any table."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection

from synth.llm.messages import sha256
from synth.models import (
    Agent,
    ApiKey,
    AuditEntry,
    DiaryEntry,
    IdempotentAnswer,
    LlmCall,
    LlmCallPart,
    Memory,
    Message,
    OutboxEvent,
    Person,
    PromptPart,
)
from synth.services import dialogues, diary, memories
from synth.testing.whole_database import grep

pytestmark = pytest.mark.django_db

SECRET = "Marguerite collects porcelain foxes from the flea market of Ghent and hides them in the attic"
NAME = "margueritefox"


def copies(agent, person, trainer):
    """What other tables say about the person."""
    AuditEntry.objects.create(
        actor=trainer,
        actor_label="trainer",
        door="admin",
        action="memory_write",
        object="synth.memory:1",
        agent=agent,
        after={"text": SECRET, "n": 1},
    )
    AuditEntry.objects.create(
        actor=person,
        actor_label=NAME,
        door="rest",
        action="me_update",
        object=f"synth.person:{person.pk}",
        before={"city": "Ghent"},
        reason="moved",
    )
    OutboxEvent.objects.create(name="synth.note_taken", payload={"who": NAME, "n": 3})
    IdempotentAnswer.objects.create(
        actor=trainer,
        key="k",
        request_sha256="0",
        status=201,
        body={"text": SECRET, "name": "porcelain-foxes", "tags": ["porcelain"], "n_tokens": 9},
    )
    IdempotentAnswer.objects.create(actor=person, key="k", request_sha256="0", body={"me": 1})
    ApiKey.objects.create(
        person=person, role="person", prefix="x", sha256="1" * 64, name="marguerite's phone"
    )
    LogEntry.objects.create(
        user=trainer,
        content_type=ContentType.objects.get_for_model(Person),
        object_id=str(person.pk),
        object_repr=NAME,
        action_flag=CHANGE,
    )


@pytest.fixture
def world():
    person = Person.objects.create_user(
        NAME, email="marguerite@example.org", first_name="Marguerite", last_name="Vandenberghe"
    )
    trainer = Person.objects.create_user("trainer")
    agent = Agent.objects.create(
        slug="wren", name="Wren", persona="A small bird with a long memory for songs."
    )
    agent.people.add(person)
    memories.write(agent, text=SECRET, about=person, name="porcelain-foxes", tags=["porcelain"])
    memories.write(agent, text="The harbour freezes in January")
    diary.write(agent, content=f"Today {SECRET}, she said", people=["Marguerite Vandenberghe"])
    diary.write(agent, content="A quiet day at the harbour", people=["Jonas"])
    texts = {
        "persona": agent.persona,
        "memories": "Known:\n" + SECRET.replace(" ", "\n> ")[:80] + " …",
        "name": f"You talk with {NAME.upper()}.",
    }
    for text in texts.values():
        PromptPart.objects.create(sha256=sha256(text), text=text)
    call = LlmCall.objects.create(
        agent=agent,
        purpose="chat",
        backend="scripted",
        outcome="ok",
        response_text="How are the foxes in your attic?",
    )
    for position, text in enumerate(texts.values()):
        LlmCallPart.objects.create(call=call, position=position, role="system", part_id=sha256(text))
    LlmCall.objects.create(
        agent=agent,
        purpose="chat",
        backend="scripted",
        outcome="ok",
        response_text="The harbour freezes.",
        session="other",
    )
    copies(agent, person, trainer)
    return agent


def erase(*options):
    out = StringIO()
    call_command("erase", *options, stdout=out)
    return json.loads(out.getvalue())


def test_nothing_of_a_person_is_left_anywhere(world):
    assert grep("marguerite") and grep("porcelain") and grep("foxes")
    receipt = erase("--person", NAME, "--yes")
    for marker in ("marguerite", "porcelain", "foxes", "ghent", "vandenberghe"):
        assert grep(marker) == []
    assert receipt["leftovers"] == {}
    assert receipt["counts"]["core"]["synth.Memory"] == 1


def test_what_is_about_others_stays(world):
    erase("--person", NAME, "--yes")
    assert [row.text for row in Memory.objects.all()] == ["The harbour freezes in January"]
    assert [row.people for row in DiaryEntry.objects.all()] == [["Jonas"]]
    assert PromptPart.objects.get(sha256=sha256(world.persona)).text == world.persona
    assert LlmCall.objects.get(session="other").response_text == "The harbour freezes."
    assert memories.recall(world, "harbour", about=None, limit=3)


def test_the_audit_keeps_what_happened_without_the_person(world):
    erase("--person", NAME, "--yes")
    entry = AuditEntry.objects.get(action="memory_write")
    assert entry.after == {"text": "[removed]", "n": 1} and entry.actor_label == "trainer"
    own = AuditEntry.objects.get(action="me_update")
    assert (own.actor, own.before, own.reason) == (None, None, "") and own.actor_label.startswith(
        "erased person"
    )
    assert AuditEntry.objects.get(action="erase").object.startswith("synth.person:")


def test_a_dry_run_counts_and_changes_nothing(world):
    before = (Memory.objects.count(), AuditEntry.objects.count(), grep("marguerite"))
    receipt = erase("--person", NAME, "--dry-run")
    assert receipt["is_dry_run"] and receipt["counts"]["core"]["synth.Person"] == 1
    assert (Memory.objects.count(), AuditEntry.objects.count(), grep("marguerite")) == before


def test_an_agent_goes_with_everything_that_was_its_own(world):
    OutboxEvent.objects.create(name="synth.agent_changed", payload={"agent_id": world.pk})
    receipt = erase("--agent", "wren", "--yes")
    assert receipt["counts"]["core"]["synth.PromptPart"] == 3
    for marker in ("porcelain", "harbour", "small bird"):
        assert grep(marker) == []
    assert not OutboxEvent.objects.filter(name="synth.agent_changed")
    assert Person.objects.filter(username=NAME).exists()


def test_answers_kept_about_an_agent_go_whole(world):
    trainer = Person.objects.get(username="trainer")
    bodies: list[dict[str, Any]] = [
        {"slug": "wren", "name": "Wren", "persona": "", "likes": ["marmalade"]},
        {"id": "1", "agent": "wren", "title": "marmalade"},
        {"id": "2", "agent": "robin", "title": "toast"},
    ]
    for n, body in enumerate(bodies):
        IdempotentAnswer.objects.create(actor=trainer, key=str(n), request_sha256="0", status=201, body=body)
    receipt = erase("--agent", "wren", "--yes")
    assert grep("marmalade") == [] and grep("porcelain") == [] and receipt["leftovers"] == {}
    assert IdempotentAnswer.objects.filter(body__agent="robin").exists()


def test_what_a_model_called_an_action_goes_with_its_agent(world):
    person = Person.objects.get(username=NAME)
    row = dialogues.create(world, person)
    said = Message.objects.create(dialogue=row, role="user", content="Hello")
    refused: dict[str, Any] = {
        "outcome": "refused",
        "door": "chat",
        "object": f"synth.message:{said.pk}",
        "agent": world,
    }
    AuditEntry.objects.create(action="tell_about_marmalade", reason="unknown_action", **refused)
    AuditEntry.objects.create(action="memory_write", reason="not_allowed", **refused)
    erase("--agent", "wren", "--yes")
    assert grep("marmalade") == []
    assert AuditEntry.objects.filter(action="unknown_action").count() == 1
    assert AuditEntry.objects.filter(action="memory_write", outcome="refused").exists()


def test_a_mention_that_stays_is_named_in_the_receipt(world):
    memories.write(world, text=f"Jonas likes {NAME}")
    receipt = erase("--person", NAME, "--yes")
    assert receipt["leftovers"] == {"synth_memory.text": 1, "synth_memoryterm.term": 1}


def test_an_unknown_name_is_refused(world):
    with pytest.raises(CommandError, match="no person"):
        erase("--person", "nobody", "--yes")
    with pytest.raises(CommandError, match="no agent"):
        erase("--agent", "nobody", "--yes")


def test_without_yes_the_name_must_be_typed(world, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt: "yes")
    with pytest.raises(CommandError, match="nothing was erased"):
        erase("--agent", "wren")
    assert Agent.objects.exists()


def test_a_copy_in_a_table_of_another_app_is_named_in_the_receipt(world):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE other_notes (id serial PRIMARY KEY, body text)")
        cursor.execute(
            "INSERT INTO other_notes (body) VALUES (%s), ('nothing')", [f"She said: {SECRET.lower()}!"]
        )
    receipt = erase("--person", NAME, "--yes")
    assert receipt["leftovers"] == {"other_notes.body": 1}
