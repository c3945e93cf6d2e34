"""Every reason of a run in the one table can really happen, and pages have a sentence for each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from growth.models import GrowthRun, GrowthSettings
from growth.services import clock, cycle, runs, settings
from growth.services.reasons import EXPLANATIONS, REVISIONS
from growth.tests.cycles import reply
from synth.services import agents
from synth.testing.scripted_host import ScriptedHost

FILTERED = {"content": "", "finish_reason": "content_filter"}
Patch = pytest.MonkeyPatch


def switch_off(agent: Any, patch: Patch) -> None:
    settings.change(agent, {"mode": "off"}, by=None, door="command")


def archive(agent: Any, patch: Patch) -> None:
    agents.archive(agent, by=None, door="command")


def ask_trainers(agent: Any, patch: Patch) -> None:
    settings.change(agent, {"mode": "request"}, by=None, door="command")


def ask_a_wrong_address(agent: Any, patch: Patch) -> None:
    ask_trainers(agent, patch)
    settings.change(agent, {"request_interface_path": "pigeon/12"}, by=None, door="command")


def forget(agent: Any, patch: Patch) -> None:
    agent.diary.all().delete()


def spend(agent: Any, patch: Patch) -> None:
    from django.apps import apps

    agents.update(agent, {"daily_token_cap": 1}, by=None, door="command")
    apps.get_model("synth", "LlmCall").objects.create(
        agent=agent, purpose="chat", backend="openai", outcome="ok", n_prompt_tokens=5, n_completion_tokens=5
    )


def stay_local(agent: Any, patch: Patch) -> None:
    agents.update(agent, {"local_only": True}, by=None, door="command")
    patch.setattr("django.conf.settings.LLM_BASE_URL", "https://93.184.216.34/v1")


def lose_the_model(agent: Any, patch: Patch) -> None:
    patch.setattr("django.conf.settings.LLM_BASE_URL", None)
    patch.setattr(cycle, "is_configured", lambda *_: True)


def break_us(agent: Any, patch: Patch) -> None:
    patch.setattr("growth.services.context.build", lambda *_: 1 / 0)
    GrowthRun.objects.update(attempt=2)


def kill_workers(agent: Any, patch: Patch) -> None:
    GrowthRun.objects.update(attempt=cycle.CYCLES.patience.max_crashes)


def tire_the_host(agent: Any, patch: Patch) -> None:
    GrowthRun.objects.update(n_host_failures=3)


def nothing(agent: Any, patch: Patch) -> None:
    """The replies alone do it."""


WAYS: dict[str, tuple[Callable[[Any, Patch], None], list[Any]]] = {
    "no_diary": (forget, []),
    "mode_off": (switch_off, []),
    "agent_archived": (archive, []),
    "bad_shape": (nothing, ["no", "no"]),
    "content_filter": (nothing, [FILTERED]),
    "llm_unreachable": (tire_the_host, [{"status": 503}]),
    "llm_refused": (nothing, [{"status": 401}]),
    "spend_cap": (spend, []),
    "local_only": (stay_local, []),
    "no_language_model": (lose_the_model, []),
    "nobody_to_ask": (ask_trainers, [reply()]),
    "bad_target": (ask_a_wrong_address, [reply()]),
    "gave_up": (kill_workers, []),
    "internal_error": (break_us, []),
}


@pytest.mark.parametrize("reason", WAYS)
def test_a_run_can_end_with_this_reason(agent, live_week, monkeypatch, reason):
    prepare, replies = WAYS[reason]
    live_week(agent)
    with ScriptedHost(replies) as host, host.installed():
        run: Any = runs.request(agent, by=None, door="command")
        prepare(agent, monkeypatch)
        cycle.run_waiting()
    run.refresh_from_db()
    assert run.reason == reason and run.finished_at is not None


def test_a_week_can_be_missed(agent):
    past = timezone.now() - timedelta(days=9)
    GrowthSettings.objects.filter(agent=agent).update(next_cycle_at=None, next_cycle_on=None)
    clock.recompute(agent.pk, past)
    clock.start_due(timezone.now())
    assert GrowthRun.objects.order_by("week")[0].reason == "missed"


def test_every_reason_of_the_table_is_reached():
    # An undelivered proposal is followed in growth/tests/proposals.
    assert set(EXPLANATIONS) == {*WAYS, "missed", "delivery_failed"}


def test_every_reason_of_a_rewriting_is_followed_to_its_end():
    told = (Path(__file__).parent / "proposals" / "test_a_proposal_is_rewritten.py").read_text("utf-8")
    assert [reason for reason in REVISIONS if f'"{reason}"' not in told] == []
