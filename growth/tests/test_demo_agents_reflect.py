"""The first click of a new user: both demo agents reflect on their week with no language model configured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.utils.timezone import now

from growth import selectors as growth_selectors
from growth.models import GrowthRun, GrowthState
from growth.services import cycle, runs
from synth import selectors
from synth.demo import seed
from synth.prompts import assemble
from synth.stack import logins

if TYPE_CHECKING:
    from synth.models import Agent

pytestmark = pytest.mark.django_db
NAMES = {
    "wren": ["Jay", "Ana", "Mrs Okafor", "Priya", "Hamish", "Linnet"],
    "minato": ["森田さん", "李さん", "北沢さん", "佐伯さん", "小野さん", "大槻課長"],
}
each = pytest.mark.parametrize("slug", sorted(NAMES))


@pytest.fixture(autouse=True)
def _no_model(settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No host, and a home of its own for the demo passwords."""
    settings.LLM_BASE_URL = None
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path))


def current(agent: Agent) -> GrowthState:
    """The agent's present self."""
    state = growth_selectors.current(agent.pk)
    assert state is not None
    return state


def reflect(slug: str) -> tuple[Agent, GrowthRun]:
    """The seeded agent and its finished first run."""
    seed.seed(at=now(), passwords=logins.passwords)
    agent = selectors.agent_by_slug(slug)
    assert agent is not None
    run = runs.request(agent, by=None)
    cycle.run_waiting()
    run.refresh_from_db()
    return agent, run


@each
def test_the_first_reflection_is_applied_and_names_people_of_the_week(slug: str):
    agent, run = reflect(slug)
    assert (run.status, run.writer, run.reason) == ("applied", "composer", "")
    assert run.n_calls == 0 and run.n_diary >= 14 and run.n_memories > 0
    state = current(agent)
    assert not state.is_ungrounded
    assert (200 if slug == "wren" else 80) <= len(state.content) <= 2000
    assert sum(name in state.content for name in NAMES[slug]) >= 2


@each
def test_every_quote_of_the_first_reflection_stands_in_the_diary_it_cites(slug: str):
    agent, run = reflect(slug)
    evidence = current(agent).evidence
    assert len(evidence) >= 3
    diary = {entry.pk: entry for entry in selectors.diary(agent)}
    for line in evidence:
        cited = [diary[pk] for pk in line["diary_ids"]]
        assert cited and any(line["quote"] in entry.content for entry in cited)
        assert not {entry.source for entry in cited} & {"recalled", "system"}


def test_the_japanese_agent_reflects_in_japanese():
    agent, _ = reflect("minato")
    content = current(agent).content
    assert len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", content)) > 0.8 * len(re.findall(r"\w", content))


@each
def test_the_new_self_is_in_the_next_prompt(slug: str):
    agent, _ = reflect(slug)
    state = current(agent)
    text = assemble(agent, "chat").text
    first_line = state.content.splitlines()[0]
    assert first_line in text


@each
def test_what_the_week_says_is_liked_joins_what_was_liked_before(slug: str):
    agent, _ = reflect(slug)
    likes, dislikes = list(agent.likes), list(agent.dislikes)
    agent.refresh_from_db()
    assert set(likes) < set(agent.likes)
    assert set(dislikes) < set(agent.dislikes)
