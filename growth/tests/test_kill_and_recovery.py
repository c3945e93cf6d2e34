"""A worker killed at any point of a cycle: its successor ends with one state and no second paid call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from growth.models import GrowthRun, GrowthState
from growth.services import clock, cycle, runs
from growth.tests.conftest import utc
from growth.tests.cycles import ABSTRACT, NOTE, current, reply
from synth.testing.scripted_host import ScriptedHost

WORKER = """
import django
django.setup()
from growth.services import cycle, clock
from datetime import datetime
import sys
if sys.argv[1] == "work":
    cycle.run_waiting()
else:
    clock.start_due(datetime.fromisoformat(sys.argv[1]))
"""
CYCLE_POINTS = (
    "growth.claimed",
    "llm.record.after",
    "growth.reply.saved",
    "growth.reply.saved:2",
    "growth.state.before",
    "growth.commit.before",
    "growth.commit.after",
)


def worker(point: str, host: ScriptedHost | None, what: str = "work") -> int:
    """Run a worker process that dies at `point` ("" for none); its exit code."""
    options = connection.settings_dict
    database = f"{options['NAME']}"
    url = os.environ["DATABASE_URL"]
    environment = {
        **os.environ,
        "SYNTH_FAULT": point,
        "DATABASE_URL": with_name(url, database),
        "LLM_BASE_URL": host.base_url if host else "",
        "DJANGO_SETTINGS_MODULE": "synth.settings",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORKER, what],
        env=environment,
        cwd=django_settings.BASE_DIR,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return done.returncode


def with_name(url: str, name: str) -> str:
    """A database URL with another database's name."""
    head, _, query = url.partition("?")
    return head.rsplit("/", 1)[0] + "/" + name + (f"?{query}" if query else "")


def let_the_lease_run_out() -> None:
    GrowthRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", CYCLE_POINTS)
def test_a_worker_killed_in_a_cycle_leaves_one_state_and_no_second_paid_call(make_agent, live_week, point):
    agent = make_agent("wren")
    live_week(agent)
    with ScriptedHost([reply(ABSTRACT), reply()]) as host:
        run: Any = runs.request(agent, by=None, door="command")
        assert worker(point, host) == -signal.SIGKILL
        let_the_lease_run_out()
        assert worker("", host) == 0
    run.refresh_from_db()
    assert (run.status, run.n_calls, len(host.requests)) == ("applied", 2, 2)
    assert GrowthState.objects.filter(agent=agent).count() == 1
    assert current(agent).content == NOTE and run.state_id == current(agent).pk


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", ["growth.start.before", "growth.start.after"])
def test_a_tick_killed_while_it_starts_a_week_starts_it_once(make_agent, point):
    agent = make_agent("wren")
    from growth.models import GrowthSettings

    GrowthSettings.objects.update(next_cycle_at=utc("2026-11-29 03:00"), next_cycle_on="2026-11-29")
    assert worker(point, None, "2026-11-29T03:00:00+00:00") == -signal.SIGKILL
    clock.start_due(utc("2026-11-29 03:01"))
    clock.start_due(utc("2026-11-29 03:02"))
    assert GrowthRun.objects.filter(agent=agent, week="2026-W48").count() == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_request_killed_before_its_commit_leaves_nothing(make_agent):
    agent = make_agent("wren")
    code = (
        "import django; django.setup()\n"
        "from synth.selectors import agent_by_slug\nfrom growth.services import runs\n"
        "runs.request(agent_by_slug('wren'), by=None, door='command')"
    )
    environment = {
        **os.environ,
        "SYNTH_FAULT": "growth.request.before",
        "DJANGO_SETTINGS_MODULE": "synth.settings",
        "DATABASE_URL": with_name(os.environ["DATABASE_URL"], str(connection.settings_dict["NAME"])),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environment,
        cwd=django_settings.BASE_DIR,
        timeout=60,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL and not GrowthRun.objects.filter(agent=agent).exists()


@pytest.mark.django_db
def test_every_fault_point_of_growth_is_killed_at_by_a_test():
    from growth.tests.proposals.test_killed_in_the_middle import POINTS
    from synth import faults

    covered = {point.partition(":")[0] for point in CYCLE_POINTS}
    covered |= {"growth.start.before", "growth.start.after", "growth.request.before"} | POINTS
    assert {name for name in faults.KNOWN if name.startswith("growth.")} <= covered


def test_a_run_that_kills_its_worker_again_and_again_is_given_up(agent, live_week):
    live_week(agent)
    run: Any = runs.request(agent, by=None, door="command")
    GrowthRun.objects.filter(pk=run.pk).update(status="running", attempt=cycle.CYCLES.patience.max_crashes)
    cycle.run_waiting()
    run.refresh_from_db()
    assert (run.status, run.reason) == ("failed", "gave_up")
