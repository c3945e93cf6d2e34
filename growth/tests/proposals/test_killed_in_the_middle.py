"""kill -9 at every fault point of proposals: whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from growth.models import GrowthRun, Proposal, Revision
from growth.services import proposals, runs, states
from growth.tests.cycles import NOTE, current, reply
from growth.tests.proposals.desk import CONCRETE, again, ask_first, deliver, inbox, propose, states_of
from growth.tests.test_kill_and_recovery import let_the_lease_run_out, with_name
from synth.testing.scripted_host import ScriptedHost

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

WORK = """
import django; django.setup()
import sys
from django.utils.timezone import now
from growth.services import cycle, proposals
from reminders.services import carrying
from synth.services import draining
from synth.selectors import person_by_username
what, pk = sys.argv[1], int(sys.argv[2])
by = person_by_username("tomas")
if what == "approve":
    proposals.approve(pk, by=by, door="rest")
elif what == "reject":
    proposals.reject(pk, by=by, door="rest")
elif what == "revise":
    proposals.revise(pk, by=by, door="rest", feedback="Shorter.")
elif what == "rewrite":
    proposals.revise_waiting()
elif what == "expire":
    proposals.expire_due(now())
elif what == "cycle":
    cycle.run_waiting()
else:
    carrying.drain_all()
    draining.drain()
"""
APPROVE_POINTS = (
    "growth.approve.moved",
    "growth.state.before",
    "growth.approve.before",
    "growth.approve.after",
)
OPEN_POINTS = (
    "growth.proposal.superseded", "reminders.send.saved", "growth.proposal.delivered",
    "growth.proposal.opened", "growth.commit.before", "growth.commit.after",
)  # fmt: skip
REVISION_POINTS = (
    "growth.revision.claimed", "growth.reply.saved", "growth.proposal.superseded", "growth.proposal.opened",
    "growth.revision.before", "growth.revision.after",
)  # fmt: skip
DELIVER_POINTS = ("reminders.sent.before", "reminders.sent.after", "growth.delivery.followed")
POINTS = {
    *APPROVE_POINTS, *OPEN_POINTS, *REVISION_POINTS, *DELIVER_POINTS, "growth.reject.before",
    "growth.revise.before", "growth.expire.before", "growth.stale.before",
}  # fmt: skip


def process(what, proposal_pk=0, point="", host=None):
    """Do it in a process that dies at `point`; its exit code."""
    environment = {
        **os.environ, "SYNTH_FAULT": point, "DJANGO_SETTINGS_MODULE": "synth.settings",
        "DATABASE_URL": with_name(os.environ["DATABASE_URL"], str(connection.settings_dict["NAME"])),
        "LLM_BASE_URL": host.base_url if host else "",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORK, what, str(proposal_pk)], env=environment,
        cwd=django_settings.BASE_DIR, timeout=120, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1, -signal.SIGKILL), done.stderr[-2000:]
    if done.returncode == 1:
        assert "Conflict" in done.stderr, done.stderr[-2000:]
    return done.returncode


@pytest.fixture
def proposal(agent, live_week, trainer):
    live_week(agent)
    return propose(agent, likes=["tea"])


@pytest.mark.parametrize("point", APPROVE_POINTS)
def test_killed_while_approving(agent, proposal, trainer, point):
    assert process("approve", proposal.pk, point) == -signal.SIGKILL
    is_done = point == "growth.approve.after"
    agent.refresh_from_db()
    assert (again(proposal).status, len(states_of(agent)), agent.likes) == (
        ("approved", 1, ["tea"]) if is_done else ("pending", 0, ["rain"])
    )
    assert process("approve", proposal.pk) == (1 if is_done else 0)
    assert (
        again(proposal).status == "approved" and len(states_of(agent)) == 1 and current(agent).content == NOTE
    )


@pytest.mark.parametrize(
    ("what", "point"), [("reject", "growth.reject.before"), ("expire", "growth.expire.before")]
)
def test_killed_while_rejecting_or_expiring(agent, proposal, trainer, what, point):
    if what == "expire":
        Proposal.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert process(what, proposal.pk, point) == -signal.SIGKILL
    assert again(proposal).status == "pending"
    assert process(what, proposal.pk) == 0
    assert (
        again(proposal).status == ("rejected" if what == "reject" else "expired") and states_of(agent) == []
    )


def test_killed_while_marking_stale(agent, proposal, trainer):
    states.manual_edit(agent, content="By hand.", by=None, door="command")
    assert process("approve", proposal.pk, "growth.stale.before") == -signal.SIGKILL
    assert again(proposal).status == "pending" and len(inbox(trainer)) == 1
    assert process("approve", proposal.pk) == 1
    assert (
        again(proposal).status == "stale"
        and len(inbox(trainer)) == 2
        and current(agent).content == "By hand."
    )


@pytest.mark.parametrize("point", OPEN_POINTS)
def test_killed_while_a_cycle_opens_a_proposal(agent, proposal, trainer, point):
    ask_first(agent)
    with ScriptedHost([reply(CONCRETE)]) as host:
        run = runs.request(agent, by=None, door="command")
        assert process("cycle", 0, point, host) == -signal.SIGKILL
        waiting = Proposal.objects.get(agent=agent, status="pending")
        assert waiting.content == (CONCRETE if point == "growth.commit.after" else NOTE)
        assert len(inbox(trainer)) == (2 if point == "growth.commit.after" else 1)
        let_the_lease_run_out()
        assert process("cycle", 0, "", host) == 0
        assert len(host.requests) == 1
    run.refresh_from_db()
    assert run.status == "proposed" and Proposal.objects.get(agent=agent, status="pending").run_id == run.pk
    assert again(proposal).status == "superseded" and len(inbox(trainer)) == 2


def test_killed_while_asking_for_a_revision(agent, proposal, trainer):
    with ScriptedHost([]) as host:
        assert process("revise", proposal.pk, "growth.revise.before", host) == -signal.SIGKILL
        assert not Revision.objects.exists() and again(proposal).status == "pending"
        assert process("revise", proposal.pk, "", host) == 0
    assert Revision.objects.count() == 1


@pytest.mark.parametrize("point", REVISION_POINTS)
def test_killed_while_rewriting(agent, proposal, trainer, point, monkeypatch):
    with ScriptedHost([reply(CONCRETE)]) as host:
        monkeypatch.setattr("django.conf.settings.LLM_BASE_URL", host.base_url)
        revision = proposals.revise(proposal.pk, by=trainer, door="rest", feedback="More concrete.")
        assert process("rewrite", 0, point, host) == -signal.SIGKILL
        is_done = point == "growth.revision.after"
        assert again(proposal).status == ("superseded" if is_done else "pending")
        Revision.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert process("rewrite", 0, "", host) == 0
        assert len(host.requests) == 1
    revision.refresh_from_db()
    assert revision.status == "done" and again(proposal).status == "superseded"
    assert Proposal.objects.filter(agent=agent).count() == 2
    assert Proposal.objects.get(status="pending").content == CONCRETE and len(inbox(trainer)) == 2


@pytest.mark.parametrize("point", DELIVER_POINTS)
def test_killed_while_delivering(agent, proposal, trainer, point):
    assert process("deliver", 0, point) == -signal.SIGKILL
    for app, model, status in (("reminders", "Delivery", "queued"), ("synth", "EventHandling", "waiting")):
        rows = apps.get_model(app, model).objects.filter(status=status)
        rows.update(lease_until=None, due_at=timezone.now())
    deliver()
    assert again(proposal).delivery_status == "sent"
    [row] = inbox(trainer)
    assert (row.status, row.seq) == ("sent", 1)
    assert GrowthRun.objects.get(pk=proposal.run_id).status == "proposed"


def test_every_fault_point_of_proposals_is_in_the_matrix():
    from synth import faults

    ours = ("approve", "reject", "stale", "expire", "revise", "revision", "proposal", "delivery")
    declared = {name for name in faults.KNOWN if name.startswith(tuple(f"growth.{noun}." for noun in ours))}
    assert declared and declared <= POINTS
