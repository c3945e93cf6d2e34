"""Trouble of the model's host: put off three times from the row, then failed; nothing paid for twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from growth.models import GrowthRun
from growth.services import cycle, runs
from growth.tests.cycles import ABSTRACT, NOTE, calls, current, reply, run_now
from synth.rowqueue import leases
from synth.services import agents
from synth.testing.scripted_host import ScriptedHost

DOWN = {"status": 503}


@pytest.fixture
def lived(agent, live_week):
    live_week(agent)
    return agent


def again(run):
    """Let the time of the backoff pass and work off what is due."""
    GrowthRun.objects.filter(pk=run.pk).update(due_at=timezone.now())
    cycle.run_waiting()
    run.refresh_from_db()


def test_a_host_that_is_down_puts_the_run_off_three_times_then_fails_it(lived):
    run, _ = run_now(lived, DOWN)
    waits = []
    with ScriptedHost([DOWN], repeat_last=True) as host, host.installed():
        while run.status == "queued":
            waits.append(round((run.due_at - timezone.now()).total_seconds() / 60))
            again(run)
    assert waits == [1, 5, 15]
    assert (run.status, run.reason, run.n_host_failures) == ("failed", "llm_unreachable", 3)
    assert current(lived) is None and len(calls(run)) == 4


def test_a_host_that_comes_back_is_asked_once_more(lived):
    run, _ = run_now(lived, DOWN)
    with ScriptedHost([reply()]) as host, host.installed():
        again(run)
    assert (run.status, run.n_calls, run.n_host_failures) == ("applied", 1, 1)


def test_a_put_off_run_is_not_due_before_its_time(lived):
    run, _ = run_now(lived, {"status": 429, "headers": {"Retry-After": "400"}})
    assert run.due_at > timezone.now() + timedelta(seconds=350)
    with ScriptedHost([reply()]) as host, host.installed():
        assert cycle.run_waiting() == 0 and host.requests == []


def test_replies_already_paid_for_are_taken_from_the_journal(lived):
    run, _ = run_now(lived, "sorry", DOWN)
    with ScriptedHost([reply()]) as host, host.installed():
        again(run)
    assert (run.status, run.n_calls, len(host.requests)) == ("applied", 2, 1)


def test_a_host_down_at_the_grounding_retry_keeps_the_first_note_in_the_end(lived):
    run, _ = run_now(lived, reply(ABSTRACT), DOWN)
    with ScriptedHost([DOWN], repeat_last=True) as host, host.installed():
        while run.status == "queued":
            again(run)
    assert run.status == "applied" and current(lived).content == ABSTRACT and current(lived).is_ungrounded


def test_a_local_only_agent_never_reaches_a_host_elsewhere(lived, settings):
    agents.update(lived, {"local_only": True}, by=None, door="command")
    settings.LLM_BASE_URL = "https://93.184.216.34/v1"
    run = runs.request(lived, by=None, door="command")
    cycle.run_waiting()
    run.refresh_from_db()
    assert (run.status, run.reason) == ("failed", "local_only")


def test_our_own_failure_is_tried_again_and_then_named(lived, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError("boom")

    monkeypatch.setattr("growth.services.context.build", broken)
    run, _ = run_now(lived, reply())
    assert run.status == "queued"
    again(run)
    again(run)
    assert (run.status, run.reason) == ("failed", "internal_error") and "boom" in run.detail


def test_a_run_taken_over_by_another_worker_is_left_to_it(lived):
    run = runs.request(lived, by=None, door="command")

    def steal(_request):
        return reply()

    claimed = leases.claim(cycle.CYCLES.rows(), at=timezone.now())[0]
    GrowthRun.objects.filter(pk=run.pk).update(attempt=claimed.attempt + 1)
    with ScriptedHost([steal]) as host, host.installed():
        cycle.work(claimed)
    run.refresh_from_db()
    assert run.status == "queued" and current(lived) is None and host.requests == []


def test_without_any_model_the_composer_writes_and_cites(lived, settings):
    settings.LLM_BASE_URL = None
    run: Any = runs.request(lived, by=None, door="command")
    cycle.run_waiting()
    run.refresh_from_db()
    assert (run.status, run.n_calls, run.writer) == ("applied", 0, "composer")
    state = current(lived)
    assert state.content == run.result["self_growth"] and NOTE not in state.content
    texts = {entry.pk: entry.content for entry in lived.diary.all()}
    assert state.evidence
    for one in state.evidence:
        assert all(one["quote"] in texts[pk] for pk in one["diary_ids"])
