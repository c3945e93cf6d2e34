"""A worker killed anywhere: its successor ends with one entry and no second paid call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from synth import faults
from synth.models import DiaryEntry, Sitting
from synth.services import sittings
from synth.testing.scripted_host import ScriptedHost
from synth.tests.sittings.conftest import add

WORKER = """
import django
django.setup()
from django.utils import timezone
from synth.services import sittings
sittings.end_due(timezone.now())
sittings.run_waiting()
"""
POINTS = (
    "sittings.queue.before", "llm.send.before", "llm.record.after", "sittings.commit.before",
    "sittings.commit.after",
)  # fmt: skip


def worker(point: str, host: ScriptedHost) -> int:
    """Run a worker process that dies at `point`; its exit code."""
    head, _, query = os.environ["DATABASE_URL"].partition("?")
    name = connection.settings_dict["NAME"]
    url = head.rsplit("/", 1)[0] + f"/{name}" + (f"?{query}" if query else "")
    environment = {
        **os.environ, "SYNTH_FAULT": point, "DATABASE_URL": url, "LLM_BASE_URL": host.base_url,
        "DJANGO_SETTINGS_MODULE": "synth.settings",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORKER], env=environment, cwd=django_settings.BASE_DIR,
        timeout=120, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return done.returncode


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_there_is_one_entry_and_one_call_paid(talked, point):
    with ScriptedHost(["Pia's kettle leaks."], repeat_last=True) as host:
        assert worker(point, host) == -signal.SIGKILL
        assert DiaryEntry.objects.count() == (point == "sittings.commit.after")
        Sitting.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        with host.installed():
            sittings.end_due(timezone.now())
            sittings.run_waiting()
    assert DiaryEntry.objects.get() == Sitting.objects.get(status="done").entry
    assert len(host.requests) == 1


def test_every_fault_point_of_sittings_is_killed_at():
    assert {name for name in faults.KNOWN if name.startswith("sittings.")} <= set(POINTS)


@pytest.mark.django_db(transaction=True)
def test_a_slow_worker_whose_row_was_taken_over_writes_nothing(talked):
    def late(_request):
        Sitting.objects.update(attempt=7)
        return "Too late."

    with ScriptedHost([late]) as host, host.installed():
        sittings.end_due(timezone.now())
        sittings.run_waiting()
    assert not DiaryEntry.objects.exists() and Sitting.objects.get().status == "running"


@pytest.mark.django_db(transaction=True)
def test_words_said_after_its_end_are_not_in_it(talked):
    def reply(_request):
        add(talked, timezone.now(), ("user", "One more thing."), ("assistant", "Yes?"))
        return "Pia's kettle leaks."

    with ScriptedHost([reply]) as host, host.installed():
        sittings.end_due(timezone.now())
        sittings.run_waiting()
    assert Sitting.objects.get().status == "done" and "One more" not in host.requests[0].text
    assert sittings.end_due(timezone.now() + timedelta(minutes=31)) == 1
