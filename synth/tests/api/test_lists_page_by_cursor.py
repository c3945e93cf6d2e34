"""Cursor pages: every row once, also with ties and with rows that arrive meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rest_framework.test import APIClient

from synth.models import Agent, DiaryEntry

AT = datetime(2026, 5, 4, 9, tzinfo=UTC)
URL = "/api/agents/wren/diary/"


def fill(agent: Agent, n: int, *, step_s: int = 60) -> None:
    DiaryEntry.objects.bulk_create(
        DiaryEntry(agent=agent, at=AT + timedelta(seconds=step_s * i), content=str(i)) for i in range(n)
    )


def walk(client: APIClient, url: str, link: str = "next") -> tuple[list[Any], str | None]:
    """All results from `url` on, and the last page's address."""
    found, at = [], url
    while True:
        page = client.get(at).json()
        found += [row["content"] for row in page["results"]]
        if not page[link]:
            return found, at
        at = page[link]


def test_every_row_comes_once_newest_first(trainer: APIClient, agent: Agent) -> None:
    fill(agent, 23)
    found, _ = walk(trainer, f"{URL}?limit=5")
    assert found == [str(i) for i in reversed(range(23))]


def test_ties_lose_and_double_nothing(trainer: APIClient, agent: Agent) -> None:
    fill(agent, 17, step_s=0)
    found, _ = walk(trainer, f"{URL}?limit=4")
    assert sorted(found, key=int) == [str(i) for i in range(17)]


def test_rows_that_arrive_meanwhile_shift_nothing(trainer: APIClient, agent: Agent) -> None:
    fill(agent, 10)
    page = trainer.get(f"{URL}?limit=5").json()
    DiaryEntry.objects.create(agent=agent, at=AT + timedelta(days=9), content="new")
    found = [row["content"] for row in trainer.get(page["next"]).json()["results"]]
    assert found == ["4", "3", "2", "1", "0"]


def test_previous_leads_back(trainer: APIClient, agent: Agent) -> None:
    fill(agent, 12)
    first = trainer.get(f"{URL}?limit=5").json()
    assert first["previous"] is None
    second = trainer.get(first["next"]).json()
    back = trainer.get(second["previous"]).json()
    assert back["results"] == first["results"] and back["previous"] is None
    assert trainer.get(back["next"]).json()["results"] == second["results"]
    third = trainer.get(second["next"]).json()
    assert third["next"] is None and len(third["results"]) == 2


def test_fifty_rows_unless_asked_otherwise(trainer: APIClient, agent: Agent) -> None:
    fill(agent, 60)
    assert len(trainer.get(URL).json()["results"]) == 50
    assert len(trainer.get(f"{URL}?limit=200").json()["results"]) == 60


def test_a_cursor_of_another_list_is_refused(operator: APIClient, agent: Agent, other_agent: Agent) -> None:
    fill(agent, 3)
    cursor = operator.get(f"{URL}?limit=1").json()["next"].split("cursor=")[1].split("&")[0]
    assert operator.get(f"/api/agents/?cursor={cursor}").status_code == 400


def test_agents_page_by_slug(operator: APIClient, callers) -> None:
    from synth.services import agents

    for slug in ("b", "d", "a", "c"):
        agents.create(slug=slug, name=slug)
    found, at = [], "/api/agents/?limit=3"
    while at:
        page = operator.get(at).json()
        found += [row["slug"] for row in page["results"]]
        at = page["next"]
    assert found == ["a", "b", "c", "d"]
