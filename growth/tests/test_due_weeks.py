"""Due weeks become queued runs: once, in time, whatever clocks and processes do."""

from __future__ import annotations

import threading
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from growth.models import GrowthRun, GrowthSettings
from growth.services import clock, effective, runs, settings
from growth.tests.conftest import utc
from synth.services import agents


def plan(agent, at):
    """Plan the agent's next cycle as of `at`."""
    GrowthSettings.objects.filter(agent=agent).update(next_cycle_at=None, next_cycle_on=None)
    clock.recompute(agent.pk, at)
    return GrowthSettings.objects.get(agent=agent)


def finish_all():
    GrowthRun.objects.update(status="applied")


def test_tokyo_sunday_three_fires_saturday_eighteen_utc(make_agent):
    row = plan(make_agent("minato", timezone="Asia/Tokyo"), utc("2026-11-25 00:00"))
    assert row.next_cycle_at == utc("2026-11-28 18:00")
    assert row.next_cycle_on == date(2026, 11, 29)


def test_a_time_in_the_spring_gap_fires_once_after_it(make_agent):
    agent = make_agent("gap", timezone="Europe/Berlin")
    settings.change(agent, {"weekly_time": "02:30"}, by=None, door="command")
    row = plan(agent, utc("2026-03-28 12:00"))
    assert row.next_cycle_at == utc("2026-03-29 01:30")
    assert clock.start_due(utc("2026-03-29 01:30")) == 1
    finish_all()
    assert clock.start_due(utc("2026-03-29 02:30")) == 0


def test_a_due_week_is_queued_once_and_the_next_is_planned(agent):
    plan(agent, utc("2026-11-25 00:00"))
    assert clock.start_due(utc("2026-11-29 02:59")) == 0
    assert clock.start_due(utc("2026-11-29 03:00")) == 1
    run = GrowthRun.objects.get()
    assert (run.status, run.trigger, run.week, run.intended_on) == (
        "queued",
        "scheduled",
        "2026-W48",
        date(2026, 11, 29),
    )
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at == utc("2026-12-06 03:00")
    assert clock.start_due(utc("2026-11-29 03:00")) == 0


def test_a_restart_after_a_run_starts_no_second_one(agent, monkeypatch):
    plan(agent, utc("2026-11-25 00:00"))
    clock.start_due(utc("2026-11-29 03:00"))
    finish_all()
    monkeypatch.setattr(clock, "_seen_environment", None)
    clock.recompute_all(utc("2026-11-29 03:00"))
    assert clock.start_due(utc("2026-11-29 03:00") + timedelta(seconds=10)) == 0


def test_a_clock_that_steps_back_runs_no_week_twice(agent):
    plan(agent, utc("2026-11-25 00:00"))
    clock.start_due(utc("2026-11-29 03:00"))
    finish_all()
    for minute in range(0, 300, 30):
        at = utc("2026-11-29 00:00") + timedelta(minutes=minute)
        clock.recompute_all(at)
        assert clock.start_due(at) == 0


def test_less_than_48_hours_late_still_runs(agent):
    plan(agent, utc("2026-11-25 00:00"))
    assert clock.start_due(utc("2026-12-01 02:59")) == 1
    assert GrowthRun.objects.get().status == "queued"


def test_48_hours_late_is_recorded_as_missed(agent):
    plan(agent, utc("2026-11-25 00:00"))
    assert clock.start_due(utc("2026-12-01 03:00")) == 0
    run = GrowthRun.objects.get()
    assert (run.status, run.reason, run.week) == ("missed", "missed", "2026-W48")
    assert run.finished_at is not None


def test_three_weeks_down_leave_a_row_for_each_week(agent):
    plan(agent, utc("2026-11-25 00:00"))
    assert clock.start_due(utc("2026-12-13 04:00")) == 1
    found = list(GrowthRun.objects.order_by("week").values_list("week", "status"))
    assert found == [("2026-W48", "missed"), ("2026-W49", "missed"), ("2026-W50", "queued")]


def test_a_due_week_waits_for_an_open_run_of_the_agent(agent):
    plan(agent, utc("2026-11-25 00:00"))
    runs.request(agent, by=None, door="command")
    assert clock.start_due(utc("2026-11-29 03:00")) == 0
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at == utc("2026-11-29 03:00")
    finish_all()
    assert clock.start_due(utc("2026-11-29 03:01")) == 1


def test_mode_off_plans_nothing_and_on_plans_again(agent):
    settings.change(agent, {"mode": "OFF"}, by=None, door="command")
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at is None
    settings.change(agent, {"mode": "on"}, by=None, door="command")
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at is not None


def test_off_in_the_environment_holds_at_the_next_tick(agent, monkeypatch):
    plan(agent, utc("2026-11-25 00:00"))
    clock.start_due(utc("2026-11-28 00:00"))
    monkeypatch.setenv("GROWTH_MODE", "off")
    assert clock.start_due(utc("2026-11-29 03:00")) == 0
    assert not GrowthRun.objects.exists()
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at is None
    monkeypatch.delenv("GROWTH_MODE")
    assert clock.start_due(utc("2026-11-30 00:00")) == 0
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at == utc("2026-12-06 03:00")


def test_a_day_moved_inside_a_week_that_ran_means_next_week(agent):
    settings.change(agent, {"weekly_day": " wednesday "}, by=None, door="command")
    plan(agent, utc("2026-11-23 00:00"))
    assert clock.start_due(utc("2026-11-25 03:00")) == 1
    finish_all()
    GrowthSettings.objects.filter(agent=agent).update(weekly_day="Friday")
    clock.recompute(agent.pk, utc("2026-11-25 12:00"))
    assert GrowthSettings.objects.get(agent=agent).next_cycle_on == date(2026, 12, 4)


def test_a_zone_changed_behind_our_back_is_seen_at_claim(agent):
    plan(agent, utc("2026-11-25 00:00"))
    type(agent).objects.filter(pk=agent.pk).update(timezone="America/New_York")
    clock._seen_environment = effective.environment()
    assert clock.start_due(utc("2026-11-29 03:00")) == 0
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at == utc("2026-11-29 08:00")
    assert clock.start_due(utc("2026-11-29 08:00")) == 1


def test_an_archived_agent_never_reflects(agent):
    plan(agent, utc("2026-11-25 00:00"))
    agents.archive(agent, by=None, door="command")
    clock._seen_environment = effective.environment()
    assert clock.start_due(utc("2026-11-29 03:00")) == 0
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at is None


def test_one_bad_row_does_not_stop_the_others(make_agent):
    bad, good = make_agent("bad"), make_agent("good")
    for one in (bad, good):
        plan(one, utc("2026-11-25 00:00"))
    type(bad).objects.filter(pk=bad.pk).update(timezone="Mars/Olympus")
    clock._seen_environment = effective.environment()
    at = utc("2026-11-29 03:00")
    assert clock.start_due(at) == 1
    assert GrowthRun.objects.get().agent_id == good.pk
    assert GrowthSettings.objects.get(agent=bad).next_cycle_at == at + timedelta(hours=1)
    type(bad).objects.filter(pk=bad.pk).update(timezone="UTC")
    assert clock.start_due(at + timedelta(hours=1)) == 1


def test_every_agent_has_a_row_after_start_up(db):
    made = agents.create(slug="new", name="New", by=None, door="command")
    GrowthSettings.objects.filter(agent=made).delete()
    clock.recompute_all(utc("2026-11-25 00:00"))
    assert GrowthSettings.objects.get(agent=made).next_cycle_at == utc("2026-11-29 03:00")


def test_a_new_and_a_moved_agent_are_planned_by_their_events(db):
    from synth.services import draining

    agent = agents.create(slug="new", name="New", timezone="Asia/Tokyo")
    draining.drain("growth.plan_new_agent")
    before: Any = GrowthSettings.objects.get(agent=agent).next_cycle_at
    agents.update(agent, {"timezone": "America/New_York"}, by=None, door="command")
    draining.drain("growth.replan_changed_agent")
    moved: Any = GrowthSettings.objects.get(agent=agent).next_cycle_at
    assert moved - before == timedelta(hours=14)


def test_the_tick_queues_and_the_worker_works(agent, monkeypatch):
    from growth import tasks

    rung: list[str] = []
    monkeypatch.setattr("synth.background.ring", rung.append)
    yesterday = timezone.localdate() - timedelta(days=1)
    GrowthSettings.objects.update(
        weekly_day=f"{yesterday:%A}",
        next_cycle_on=yesterday,
        next_cycle_at=timezone.now() - timedelta(days=1),
    )
    tasks.start_due()
    assert GrowthRun.objects.count() == len(set(rung)) == 1 and rung[0] == "growth.run_cycles"
    tasks.run_cycles()
    assert GrowthRun.objects.get().reason == "no_diary"


@pytest.mark.django_db(transaction=True)
def test_eight_threads_start_one_run(make_agent):
    agent = make_agent("race")
    plan(agent, utc("2026-11-25 00:00"))
    clock._seen_environment = effective.environment()
    started = []

    def beat():
        try:
            started.append(clock.start_due(utc("2026-11-29 03:00")))
        finally:
            connection.close()

    threads = [threading.Thread(target=beat) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(started) == 1
    assert GrowthRun.objects.filter(agent=agent).count() == 1
