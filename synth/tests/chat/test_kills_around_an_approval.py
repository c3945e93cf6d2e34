"""Processes killed around an approval: nothing is decided by half, what was allowed is done at most once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.timezone import now

from synth import actions, registries
from synth.actions import Action, Outcome
from synth.models import Approval, ApprovalGrant, Dialogue, Message, OutboxEvent
from synth.services import agents, approvals, dialogues, people
from synth.tests.chat.asking import ask, only, streaming
from synth.tests.outbox.helpers import ROOT, child_env

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CHILD = """
import os, sys
import django; django.setup()
from django.utils.timezone import now
from synth import actions, faults
from synth.actions import Action, Outcome
from synth.models import Approval, Dialogue, Message
from synth.schemas import Caller
from synth.services import approvals
from synth.turns import Turn

def ring(turn, arguments):
    with open(sys.argv[2], "a") as rung:
        rung.write("x")
    return Outcome("It rang.")

actions.register(Action("bell_ring", "", ring, risk="needs_approval"))
answer = Message.objects.get(role="assistant")
dialogue = Dialogue.objects.get()
if sys.argv[1] == "perform":
    turn = Turn(dialogue.agent, dialogue.person, dialogue, None, now())
    print(actions.perform(turn, "bell_ring", None, call_id="call_1", answer=answer))
elif sys.argv[1] == "expire":
    approvals.expire_due(now())
else:
    by = Caller(dialogue.person, None, False, True)
    approvals.decide(Approval.objects.get().pk, sys.argv[1], by=by, door="rest")
"""


@pytest.fixture
def asked_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dialogue]:
    monkeypatch.setattr(registries.approval_judges, "_entries", {})
    actions.register(Action("bell_ring", "", lambda t, a: Outcome("It rang."), risk="needs_approval"))
    yield dialogues.create(agents.create(slug="wren", name="Wren"), people.ensure("pia"))
    actions.unregister("bell_ring")


def child(what: str, file: Path, point: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, what, str(file)],
        env=child_env(SYNTH_FAULT=point),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def killed(what: str, file: Path, point: str) -> None:
    done = child(what, file, point)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rung"
    path.touch()
    return path


def test_killed_before_the_question_is_saved_it_is_asked_again(asked_in, file):
    streaming(asked_in)
    killed("perform", file, "approvals.open.before")
    assert (
        not Approval.objects.exists() and not OutboxEvent.objects.filter(name__contains="approval").exists()
    )
    assert "Waiting" in child("perform", file).stdout and only().status == "pending"


def test_killed_after_the_question_is_saved_it_is_not_asked_twice(asked_in, file):
    streaming(asked_in)
    killed("perform", file, "approvals.open.after")
    assert "Waiting" in child("perform", file).stdout and Approval.objects.count() == 1
    assert OutboxEvent.objects.filter(name="synth.approval_requested").count() == 1


def test_killed_while_deciding_nothing_is_decided(asked_in, file):
    ask(asked_in)
    killed("allow_always", file, "approvals.decide.before")
    assert only().status == "pending" and not ApprovalGrant.objects.exists()
    assert not OutboxEvent.objects.filter(name="synth.approval_decided").exists()
    assert child("allow_always", file).returncode == 0 and only().status == "allowed"


def test_killed_after_the_decision_it_is_still_performed_once(asked_in, file):
    answer, _ = ask(asked_in)
    Message.objects.filter(pk=answer.pk).update(due_at=approvals.due_at(answer))
    killed("allow_once", file, "approvals.decide.after")
    answer.refresh_from_db()
    assert only().status == "allowed" and answer.due_at <= now()
    assert "It rang" in child("perform", file).stdout
    assert "already_performed" in child("perform", file).stdout
    assert file.read_text() == "x"


def test_killed_between_taking_and_performing_it_is_never_performed(asked_in, file):
    ask(asked_in)
    child("allow_once", file)
    killed("perform", file, "approvals.take.after")
    assert "already_performed" in child("perform", file).stdout and file.read_text() == ""


def test_killed_while_a_question_runs_out_it_runs_out_later(asked_in, file):
    ask(asked_in)
    Approval.objects.update(expires_at=now())
    killed("expire", file, "approvals.expire.before")
    assert only().status == "pending"
    child("expire", file)
    assert only().status == "expired"
    assert OutboxEvent.objects.filter(name="synth.approval_decided").count() == 1
