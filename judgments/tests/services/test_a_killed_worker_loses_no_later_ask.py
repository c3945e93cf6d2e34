"""Kill -9 between an answer and its commit: the ask is taken up again, one run, its handler heard once."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.utils.timezone import now

from judgments.models import JudgmentSetting, LaterAsk, Run
from judgments.services.later import judge_later
from synth.tests.outbox.helpers import ROOT, child_env

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "check-in.progress"
CHILD = """
import django; django.setup()
from judgments.services import later
from synth.rowqueue.deadline import Deadline
later.run_waiting(Deadline(30))
"""


def work(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHILD],
        env=child_env(**env),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_killed_between_answer_and_commit(tmp_path, monkeypatch):
    script = tmp_path / "answers.jsonl"
    script.write_text("0.9\n")
    host = f"scripted:{script}"
    monkeypatch.setenv("SYSTEM_ONE_HOST", host)
    JudgmentSetting.objects.create(name=NAME, mode="audit")
    run_id = judge_later(NAME, {"count": 50}, session="cycle:1")
    killed = work(SYSTEM_ONE_HOST=host, SYNTH_FAULT="judgments.later.before")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    assert not Run.objects.exists()
    LaterAsk.objects.update(lease_until=now() - timedelta(seconds=1))
    assert work(SYSTEM_ONE_HOST=host).returncode == 0
    run = Run.objects.get()
    assert (f"{run.judgment}/{run.id}", run.failure, run.is_asked) == (run_id, "", True)
    assert LaterAsk.objects.get().status == "done"
    assert work(SYSTEM_ONE_HOST=host).returncode == 0 and Run.objects.count() == 1
