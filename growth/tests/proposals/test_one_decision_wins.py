"""Whatever meets an approval, in threads or processes: one state or none, and the rest hear of it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.utils import timezone

from growth.models import GrowthRun, Proposal
from growth.services import proposals, settings, states
from growth.services.proposals.opening import open_new
from growth.tests.cycles import NOTE, current
from growth.tests.proposals.desk import again, audits, in_thread, propose, states_of
from growth.tests.test_kill_and_recovery import with_name
from synth.errors import Conflict
from synth.services import agents, people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def proposal(agent, live_week, trainer):
    live_week(agent)
    return propose(agent, likes=["tea"])


def together(*works):
    """Start all at once; what each returned or raised, in order."""
    barrier = Barrier(len(works))

    def one(work):
        barrier.wait(10)
        return in_thread(work)()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def test_eight_approvals_make_one_state_and_seven_conflicts(agent, proposal, trainer):
    results = together(*[lambda: proposals.approve(proposal.pk, by=trainer, door="rest")] * 8)
    won = [one for one in results if isinstance(one, Proposal)]
    lost = [one for one in results if isinstance(one, Conflict)]
    assert (len(won), len(lost)) == (1, 7), results
    assert {one.code for one in lost} == {"already_approved"}
    at = again(proposal).decided_at.isoformat()
    assert all(one.details["by"] == "tomas" and one.details["at"] == at for one in lost)
    assert len(states_of(agent)) == 1 and current(agent).content == NOTE
    assert sorted(row[2] for row in audits(action="growth_proposal_approve")) == ["done"] + ["refused"] * 7


def test_two_trainers_with_two_edits_apply_one_of_them(agent, proposal, trainer):
    mira = people.ensure("mira")
    agents.update(agent, {"trainers": [trainer, mira]}, by=None, door="command")
    results = together(
        lambda: proposals.approve(proposal.pk, by=trainer, door="admin", content="I am Tomas's."),
        lambda: proposals.approve(proposal.pk, by=mira, door="rest", content="I am Mira's."),
    )
    assert sum(isinstance(one, Conflict) for one in results) == 1
    row = again(proposal)
    assert current(agent).content == row.applied["content"]
    assert (row.decided_by, row.applied["content"]) in (("tomas", "I am Tomas's."), ("mira", "I am Mira's."))
    assert len(states_of(agent)) == 1


def supersede(agent):
    with transaction.atomic():
        run = GrowthRun.objects.filter(agent=agent).first()
        return open_new(
            agent, run=run, content="Another.", likes=[], dislikes=[], evidence=[], is_ungrounded=False,
            writer="model", at=timezone.now(),
        )  # fmt: skip


def expire(agent):
    return proposals.expire_due(timezone.now() + timedelta(days=30))


def edit(agent):
    return states.manual_edit(agent, content="By hand.", by=None, door="command")


def set_lists(agent):
    return agents.update(agent, {"likes": ["fog"]}, by=None, door="command")


def switch_off(agent):
    return settings.change(agent, {"mode": "off"}, by=None, door="command")


def archive(agent):
    return agents.archive(agent, by=None, door="command")


@pytest.mark.parametrize("n", range(3))
@pytest.mark.parametrize("other", [supersede, expire, edit, set_lists, switch_off, archive])
def test_an_approval_meets_something_else(agent, proposal, trainer, other, n):
    results = together(lambda: proposals.approve(proposal.pk, by=trainer, door="rest"), lambda: other(agent))
    row, approved = again(proposal), [s for s in states_of(agent) if s.source == "approved"]
    if isinstance(results[0], Proposal):
        assert row.status == "approved" and len(approved) == 1 and row.state_id == approved[0].pk
    else:
        assert isinstance(results[0], Conflict), results[0]
        ends = {"superseded", "expired", "stale"} | ({"pending"} if other is archive else set())
        assert row.status in ends and approved == [], (row.status, results)
    assert not isinstance(results[1], Exception), results[1]
    assert Proposal.objects.filter(agent=agent, status="pending").count() <= 1
    assert sum(state.is_current for state in states_of(agent)) <= 1


@pytest.mark.parametrize("n", range(3))
def test_an_approval_meets_a_revert(agent, live_week, trainer, n):
    live_week(agent)
    first = states.commit(agent, content="One.", likes=None, dislikes=None, source="weekly", created_by="t")
    states.commit(agent, content="Two.", likes=None, dislikes=None, source="weekly", created_by="t")
    proposal = propose(agent)
    results = together(
        lambda: proposals.approve(proposal.pk, by=trainer, door="rest"),
        lambda: states.restore(first.pk, by=trainer, door="admin"),
    )
    row = again(proposal)
    assert row.status in ("approved", "stale") and not isinstance(results[1], Exception)
    assert current(agent).source == "revert" and current(agent).content == "One."
    assert len(states_of(agent)) == (4 if row.status == "approved" else 3)


def test_an_approval_meets_a_rejection_and_a_revision(agent, proposal, trainer, monkeypatch):
    monkeypatch.setattr("django.conf.settings.LLM_BASE_URL", "http://127.0.0.1:1/v1")
    together(
        lambda: proposals.approve(proposal.pk, by=trainer, door="rest"),
        lambda: proposals.reject(proposal.pk, by=trainer, door="rest"),
        lambda: proposals.revise(proposal.pk, by=trainer, door="chat", feedback="Shorter."),
    )
    row = again(proposal)
    assert row.status in ("approved", "rejected")
    assert len(states_of(agent)) == (1 if row.status == "approved" else 0)


APPROVE = """
import django; django.setup()
from growth.services import proposals
from synth.selectors import person_by_username
from synth.errors import Conflict
import sys
try:
    proposals.approve(int(sys.argv[1]), by=person_by_username("tomas"), door="rest")
    print("won")
except Conflict as conflict:
    print(conflict.code)
"""


@pytest.mark.slow
def test_approvals_from_eight_processes_make_one_state(agent, proposal, trainer):
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "synth.settings",
        "DATABASE_URL": with_name(os.environ["DATABASE_URL"], str(connection.settings_dict["NAME"])),
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore", "-c", APPROVE, str(proposal.pk)]
    running = [
        subprocess.Popen(
            command, env=environment, cwd=django_settings.BASE_DIR, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    said = sorted(one.communicate(timeout=120)[0].split()[-1] for one in running)
    assert said == ["already_approved"] * 7 + ["won"]
    assert len(states_of(agent)) == 1
