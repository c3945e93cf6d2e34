"""Every page of the core's admin opens, and no list counts its table."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from synth.models import (
    Agent,
    AuditEntry,
    EventHandling,
    LlmCall,
    LlmCallPart,
    OutboxEvent,
    PromptPart,
    Sitting,
    Tick,
)  # fmt: skip
from synth.services import dialogues, diary, keys, memories, people

MODELS = ("person", "apikey", "agent", "diaryentry", "memory", "outboxevent", "eventhandling", "llmcall",
          "auditentry", "tick", "dialogue", "message", "sitting")  # fmt: skip


@pytest.fixture
def rows(wren: Agent, minato: Agent) -> dict[str, object]:
    """One row of each model."""
    event = OutboxEvent.objects.create(name="synth.tested", payload={})
    call = LlmCall.objects.create(agent=wren, purpose="reflection", backend="openai", outcome="ok")
    part = PromptPart.objects.create(sha256="a" * 64, text="<b>You are Wren.</b>")
    LlmCallPart.objects.create(call=call, position=0, role="system", layer="persona", part=part)
    return {
        "person": people.ensure("pia").pk,
        "apikey": keys.issue(people.ensure("pia"), role="person").key.pk,
        "agent": wren.pk,
        "diaryentry": diary.write(wren, content="A day.").pk,
        "memory": memories.write(wren, text="A thing.").pk,
        "outboxevent": event.pk,
        "eventhandling": EventHandling.objects.create(
            event=event, handler="h", status="parked", error="broken", due_at=now()
        ).pk,
        "llmcall": call.pk,
        "auditentry": AuditEntry.objects.values_list("pk", flat=True)[0],
        "tick": Tick.objects.create(name="t").pk,
        "dialogue": dialogues.create(wren, people.ensure("pia"), title="Tea").pk,
        "sitting": Sitting.objects.create(
            dialogue=dialogues.create(wren, people.ensure("pia")),
            until=now(),
            due_at=now(),
            status="failed",
            reason="llm_unreachable",
            detail="<b>gone</b>",
        ).pk,
        "message": dialogues.attach_proactive_node(
            dialogues.create(wren, people.ensure("pia")), "<b>Hello.</b>"
        ).pk,
    }


@pytest.mark.parametrize("model", MODELS)
def test_list_and_row_open_for_an_operator_without_a_count(operator: Client, rows, model: str) -> None:
    with CaptureQueriesContext(connection) as seen:
        assert operator.get(f"/admin/synth/{model}/").status_code == 200
    assert not [query["sql"] for query in seen if "COUNT(" in query["sql"]]
    answer = operator.get(f"/admin/synth/{model}/{rows[model]}/change/")
    assert answer.status_code == 200
    if model == "apikey":
        assert b"sha256" not in answer.content.lower()


@pytest.mark.parametrize("model", ["person", "apikey", "agent", "diaryentry", "memory"])
def test_forms_for_new_rows_open(operator: Client, model: str) -> None:
    assert operator.get(f"/admin/synth/{model}/add/").status_code == 200


@pytest.mark.parametrize("model", ["outboxevent", "eventhandling", "llmcall", "auditentry", "tick"])
def test_records_cannot_be_added_changed_or_deleted(operator: Client, rows, model: str) -> None:
    assert operator.get(f"/admin/synth/{model}/add/").status_code == 403
    assert operator.post(f"/admin/synth/{model}/{rows[model]}/change/", {"error": "x"}).status_code == 403
    assert operator.post(f"/admin/synth/{model}/{rows[model]}/delete/", {"post": "yes"}).status_code == 403


def test_the_text_of_a_call_is_shown_escaped(operator: Client, rows) -> None:
    page = operator.get(f"/admin/synth/llmcall/{rows['llmcall']}/change/").content.decode()
    assert "&lt;b&gt;You are Wren.&lt;/b&gt;" in page and "<b>You are Wren.</b>" not in page


def test_filters_answer(operator: Client, rows, wren: Agent) -> None:
    for path in (
        f"diaryentry/?agent={wren.pk}", "diaryentry/?agent=x", "llmcall/?purpose=chat",
        "auditentry/?outcome=refused",
        "eventhandling/?status=all", "eventhandling/?status=handled", "agent/?q=wren", "person/?q=pia",
        "memory/?size=big", "sitting/?status=failed",
    ):  # fmt: skip
        assert operator.get(f"/admin/synth/{path}").status_code == 200, path
    assert b"broken" in operator.get("/admin/synth/eventhandling/").content
    assert b"broken" not in operator.get("/admin/synth/eventhandling/?status=handled").content


def test_the_index_lists_the_core(operator: Client) -> None:
    page = operator.get("/admin/").content.decode()
    assert "/admin/synth/agent/" in page


@pytest.mark.parametrize(
    "query", ["agent=²", "agent=" + "9" * 5000, "source=%00", "source__exact=%00", "q=%00"]
)
def test_a_filter_nobody_could_choose_breaks_no_list(operator: Client, rows, query: str) -> None:
    answer = operator.get(f"/admin/synth/diaryentry/?{query}", follow=True)
    assert answer.status_code == 200
