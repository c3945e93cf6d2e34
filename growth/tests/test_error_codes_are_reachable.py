"""Every error code of growth stands in the one table, and each can really be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils.timezone import now

from growth.codes import CODES
from growth.models import ProposalStatus
from growth.services import proposals, runs, settings, states
from growth.services.proposals import delivering, expiring, opening
from growth.tests.cycles import NOTE
from growth.tests.proposals.desk import chat_with
from synth.errors import DomainError
from synth.services import agents
from synth.testing import errors_raised

GROWTH = Path(__file__).resolve().parents[1]
CLI: dict[str, Any] = {"by": None, "door": "command"}
ENDS = [status for status in ProposalStatus.values if status != "pending"]
pytestmark = pytest.mark.django_db


def test_what_is_raised_stands_in_the_table_and_nothing_else_does():
    raised = errors_raised.codes(GROWTH) - {f"already_{errors_raised.HOLE}"}
    assert raised | {f"already_{status}" for status in ENDS} == set(CODES)


def propose(agent: Any) -> Any:
    return opening.open_new(
        agent, run=None, content=NOTE, likes=["tea"], dislikes=[], evidence=[], is_ungrounded=False,
        writer="model", at=now(),
    )  # fmt: skip


class Ways:
    """One method or entry a code; each does what leads to it."""

    def __init__(self, agent: Any, trainer: Any, patch: pytest.MonkeyPatch) -> None:
        self.agent, self.trainer, self.patch = agent, trainer, patch

    def decide(self, row: Any, act: Callable[..., Any] = proposals.approve, **more: Any) -> Any:
        return act(row.pk, by=self.trainer, door="rest", **more)

    def revise(self, url: str | None) -> None:
        self.patch.setattr("django.conf.settings.LLM_BASE_URL", url)
        row = propose(self.agent)
        for _ in range(2):
            self.decide(row, proposals.revise, feedback="Shorter.")

    def archived(self) -> None:
        agents.archive(self.agent, **CLI)
        runs.request(self.agent, **CLI)

    def decided(self, act: Callable[..., Any]) -> None:
        row = propose(self.agent)
        self.decide(row, act)
        self.decide(row)

    def expired(self) -> None:
        row = propose(self.agent)
        type(row).objects.update(expires_at=now())
        expiring.expire_due(now())
        self.decide(row)

    def change_lists(self) -> Any:
        row = propose(self.agent)
        agents.update(self.agent, {"likes": ["fog"]}, **CLI)
        return row

    def found_stale(self) -> None:
        row = self.change_lists()
        with pytest.raises(DomainError):
            self.decide(row)
        self.decide(row)

    def superseded(self) -> None:
        row = propose(self.agent)
        propose(self.agent)
        self.decide(row)

    def blank_growth(self) -> None:
        states.commit(self.agent, content=" ", likes=None, dislikes=None, source="weekly", created_by="test")

    def request_twice(self) -> None:
        runs.request(self.agent, **CLI)
        runs.request(self.agent, **CLI)

    def to_another_agents_dialogue(self) -> None:
        other = agents.create(slug="minato", name="Minato")
        path = f"dialogue/{chat_with(other, self.trainer).pk}"
        settings.change(self.agent, {"request_interface_path": path}, **CLI)
        row = propose(self.agent)
        delivering._to_targets(row, self.agent, settings.effective(self.agent), "Title", "Body", "again")

    def switched_off(self) -> None:
        settings.change(self.agent, {"mode": "off"}, **CLI)
        runs.request(self.agent, **CLI)

    def overridden(self) -> None:
        self.patch.setenv("GROWTH_MODE", "request")
        settings.change(self.agent, {"mode": "on"}, **CLI)


WAYS: dict[str, Callable[[Ways], Any]] = {
    "agent_archived": Ways.archived,
    "already_approved": lambda ways: ways.decided(proposals.approve),
    "already_expired": Ways.expired,
    "already_rejected": lambda ways: ways.decided(proposals.reject),
    "already_stale": Ways.found_stale,
    "already_superseded": Ways.superseded,
    "bad_target": Ways.to_another_agents_dialogue,
    "blank": lambda ways: ways.decide(propose(ways.agent), content=" "),
    "blank_growth": Ways.blank_growth,
    "cycle_running": Ways.request_twice,
    "hash_changed": lambda ways: ways.decide(propose(ways.agent), shown_hash="another"),
    "mode_off": Ways.switched_off,
    "no_language_model": lambda ways: ways.revise(None),
    "overridden_by_env": Ways.overridden,
    "revision_running": lambda ways: ways.revise("http://127.0.0.1:1/v1"),
    "stale": lambda ways: ways.decide(ways.change_lists()),
    "unknown_field": lambda ways: settings.change(ways.agent, {"mood": "x"}, **CLI),
}


@pytest.mark.parametrize("code", CODES)
def test_every_way_leads_to_its_code(agent, trainer, monkeypatch, code):
    with pytest.raises(DomainError) as caught:
        WAYS[code](Ways(agent, trainer, monkeypatch))
    assert caught.value.code == code


def test_sentences_are_sentences():
    assert [text for text in CODES.values() if not errors_raised.is_sentence(text)] == []
