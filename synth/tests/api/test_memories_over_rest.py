"""Memories: kept, listed by time, recalled by a question; never another person's."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from synth.models import Agent
from synth.services import memories, people

URL = "/api/agents/wren/memories/"


def test_a_memory_is_kept_and_listed(trainer: APIClient, agent: Agent) -> None:
    body = {
        "text": "Jay plays the cello.",
        "tags": ["music"],
        "name": "jay-cello",
        "kind": "fact",
        "about": "pia",
    }
    made = trainer.post(URL, body)
    assert made.status_code == 201, made.content
    assert {**made.json(), **body} == made.json() and made.json()["n_tokens"] > 0
    assert [row["name"] for row in trainer.get(URL).json()["results"]] == ["jay-cello"]
    assert trainer.post(URL, body).status_code == 409


def test_a_question_ranks_them(trainer: APIClient, agent: Agent) -> None:
    for text in ("The cello stands in the hall.", "Rain again.", "Cello lesson with Jay on the cello."):
        trainer.post(URL, {"text": text})
    answer = trainer.get(URL, {"q": "cello"}).json()
    assert answer["next"] is None and len(answer["results"]) == 2
    scores = [row["score"] for row in answer["results"]]
    assert scores == sorted(scores, reverse=True) and 0 < scores[0] <= 1
    assert len(trainer.get(URL + "?q=cello&limit=1").json()["results"]) == 1


def test_a_question_never_crosses_persons(trainer: APIClient, agent: Agent) -> None:
    pia, pat = people.ensure("pia"), people.ensure("pat")
    memories.write(agent, text="Likes cello.", about=pia)
    memories.write(agent, text="Fears cello.", about=pat)

    def texts(**query: str) -> list[str]:
        return [row["text"] for row in trainer.get(URL, {"q": "cello", **query}).json()["results"]]

    assert texts() == []
    assert texts(about="pia") == ["Likes cello."]
    assert trainer.get(URL, {"about": "pat"}).json()["results"][0]["about"] == "pat"
    assert trainer.get(URL, {"about": "nobody"}).status_code == 422


def test_odd_questions_are_harmless(trainer: APIClient, agent: Agent) -> None:
    for query in ("'", "a & | !", "%", "\\", "💥", "x" * 9000, "' OR 1=1 --"):
        assert trainer.get(URL, {"q": query}).status_code == 200
    assert trainer.get(URL + "?q=a%00b").status_code == 400


def test_a_long_memory_answers_with_a_note(trainer: APIClient, agent: Agent) -> None:
    assert "note" in trainer.post(URL, {"text": "word " * 6000}).json()
    assert "note" not in trainer.post(URL, {"text": "word"}).json()


def test_the_long_ones_are_listed_the_largest_first(trainer: APIClient, agent: Agent, settings: Any) -> None:
    settings.MEMORY_ENTRY_WARN_TOKENS = 10
    for n in (3, 12, 30, 20):
        memories.write(agent, text="word" * n, about=people.ensure("pia") if n == 20 else None)
    found = trainer.get(URL, {"big": "1"}).json()
    assert [row["n_tokens"] for row in found["results"]] == [30, 20, 12] and found["next"] is None
    assert [row["n_tokens"] for row in trainer.get(URL, {"big": "1", "limit": "1"}).json()["results"]] == [30]
    about_pia = trainer.get(URL, {"big": "1", "about": "pia"}).json()
    assert [row["n_tokens"] for row in about_pia["results"]] == [20]
    assert len(trainer.get(URL, {"big": "0"}).json()["results"]) == 4
    assert trainer.get(URL, {"big": "very"}).json()["error"]["field"] == "big"
    settings.MEMORY_ENTRY_WARN_TOKENS = 0
    assert trainer.get(URL, {"big": "1"}).json()["results"] == []
