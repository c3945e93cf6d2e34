"""A trainer's admin: rows of their agents, nothing else, and no power over who trains."""

from __future__ import annotations

import pytest
from django.test import Client

from synth.models import Agent, DiaryEntry, LlmCall, Memory
from synth.services import diary, memories, people
from synth.tests.admin.conftest import login

AGENT_FORM = {"name": "Wren", "persona": "A bird.", "timezone": "UTC", "language": "en", "interface_path": "",
              "model_overrides": "{}", "likes": "tea", "dislikes": ""}  # fmt: skip


@pytest.mark.parametrize("model", ["person", "apikey", "outboxevent", "eventhandling", "auditentry", "tick"])
def test_what_belongs_to_operators_is_closed(trainer: Client, model: str) -> None:
    assert trainer.get(f"/admin/synth/{model}/").status_code == 403


def test_other_agents_and_their_rows_are_not_there(trainer: Client, minato: Agent, wren: Agent) -> None:
    mine, other = diary.write(wren, content="mine-text"), diary.write(minato, content="other-text")
    kept = memories.write(minato, text="other-thing")
    page = trainer.get("/admin/synth/diaryentry/").content
    assert b"mine-text" in page and b"other-text" not in page and b"minato" not in page
    assert trainer.get(f"/admin/synth/diaryentry/{mine.pk}/change/").status_code == 200
    for path in (f"diaryentry/{other.pk}", f"memory/{kept.pk}", f"agent/{minato.pk}"):
        assert trainer.get(f"/admin/synth/{path}/change/").status_code == 302
    assert trainer.post(f"/admin/synth/memory/{kept.pk}/delete/", {"post": "yes"}).status_code in (302, 403)
    assert Memory.objects.filter(pk=kept.pk).exists()
    assert trainer.post(f"/admin/synth/agent/{minato.pk}/change/", AGENT_FORM).status_code == 302
    assert Agent.objects.get(pk=minato.pk).name == "Minato"


def test_chats_of_persons_are_not_shown_to_a_trainer(trainer: Client, wren: Agent) -> None:
    for purpose in ("chat", "reflection"):
        LlmCall.objects.create(
            agent=wren, purpose=purpose, backend="b", outcome="ok", model=f"{purpose}-model"
        )
    page = trainer.get("/admin/synth/llmcall/").content
    assert b"reflection-model" in page and b"chat-model" not in page


def test_a_trainer_edits_the_persona_but_not_who_trains(trainer: Client, wren: Agent, tara) -> None:
    form = {**AGENT_FORM, "persona": "A bigger bird.", "likes": "tea\nseeds", "slug": "stolen",
            "trainers": [],
            "local_only": "on", "daily_token_cap": "5"}  # fmt: skip
    answer = trainer.post(f"/admin/synth/agent/{wren.pk}/change/", form)
    assert answer.status_code == 302, answer.context and answer.context["errors"]
    wren.refresh_from_db()
    assert (wren.persona, wren.likes, wren.slug) == ("A bigger bird.", ["tea", "seeds"], "wren")
    assert wren.daily_token_cap is None and not wren.local_only and list(wren.trainers.all()) == [tara]


def test_a_trainer_writes_only_into_their_diary(trainer: Client, wren: Agent, minato: Agent) -> None:
    form = {
        "at_0": "2026-05-04",
        "at_1": "09:00:00",
        "content": "Typed.",
        "source": "user",
        "people": "",
        "tags": "a\nb",
    }
    assert trainer.post("/admin/synth/diaryentry/add/", {**form, "agent": minato.pk}).status_code == 200
    assert trainer.post("/admin/synth/diaryentry/add/", {**form, "agent": wren.pk}).status_code == 302
    assert DiaryEntry.objects.get().tags == ["a", "b"]
    assert trainer.get("/admin/synth/agent/add/").status_code == 403


def test_a_former_trainer_and_a_plain_person_see_no_admin(wren: Agent, tara) -> None:
    from synth.services import agents

    client = login(tara)
    agents.update(wren, {"trainers": []}, by=None, door="command")
    for someone in (client, login(people.ensure("pia"))):
        assert someone.get("/admin/synth/agent/").status_code == 302
