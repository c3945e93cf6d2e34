"""Background asks: one at a time for each judgment, a handler called exactly once whatever happened."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from judgments import registry
from judgments.models import LaterAsk, Run
from judgments.results import Result
from judgments.services import asking, labels, later, replay
from judgments.services.later import judge_later
from judgments.tests.conftest import NOUL
from synth.rowqueue import leases
from synth.rowqueue.deadline import Deadline

S = "cycle:1"


@pytest.fixture
def heard() -> list[Result]:
    found: list[Result] = []
    later.handler("weather.heard")(found.append)
    return found


def test_the_id_comes_at_once_and_the_answer_later(judgments, rain, heard):
    judgments.answer(rain, 0.9)
    run_id = judge_later(rain, {"b": 1, "a": 2}, session=S, then="weather.heard")
    assert run_id and not Run.objects.exists() and not heard
    judgments.wait()
    assert [(r.p(), r.run_id) for r in heard] == [(0.9, run_id)]
    run = Run.objects.get()
    assert (str(run), list(run.state), run.session_id) == (run_id, ["b", "a"], S)
    row = LaterAsk.objects.get()
    assert (row.status, row.state) == ("done", None)


def test_a_second_one_is_busy_while_the_first_waits(judgments, rain, heard):
    judgments.answer(rain, 0.9)
    judgments.shared_host_busy(False)
    judge_later(rain, "one", session=S, then="weather.heard")
    busy = judge_later(rain, "two", session=S, then="weather.heard")
    assert [r.reason for r in heard] == ["busy"]
    run = Run.objects.get()
    assert (str(run), run.is_asked, run.skipped) == (busy, False, "busy")
    judgments.wait()
    assert [r.reason for r in heard] == ["busy", None]
    assert judge_later(rain, "three", session=S) and LaterAsk.objects.filter(status="queued").count() == 1


def test_busy_comes_before_a_shared_host(judgments, rain, heard):
    judgments.answer(rain, 0.9)
    judge_later(rain, "one", session=S)
    judgments.shared_host_busy()
    judge_later(rain, "two", session=S, then="weather.heard")
    assert [r.reason for r in heard] == ["busy"]
    judgments.wait()
    assert Run.objects.filter(skipped="shared_host").count() == 1


@pytest.mark.parametrize("reason", ["off", "no_host", "no_session"])
def test_what_will_not_be_asked_is_told_at_once(judgments, rain, heard, reason):
    if reason != "off":
        judgments.answer(rain, 0.9)
    if reason == "no_host":
        judgments.no_host(rain)
    session = None if reason == "no_session" else S
    assert judge_later(rain, "x", session=session, then="weather.heard") is None
    assert [r.reason for r in heard] == [reason] and not LaterAsk.objects.exists()


def test_a_failing_host_is_heard_too(judgments, rain, heard):
    judgments.fail(rain, "timeout")
    run_id = judge_later(rain, "x", session=S, then="weather.heard")
    judgments.wait()
    assert [(r.reason, r.failure, r.run_id) for r in heard] == [("failed", "timeout", run_id)]


def test_a_raising_handler_undoes_only_itself(judgments, rain):
    def broken(result: Result) -> None:
        labels.label(result.run_id, "wet", by="handler")
        raise RuntimeError("no")

    later.handler("weather.broken")(broken)
    judgments.answer(rain, 0.9)
    judge_later(rain, "x", session=S, then="weather.broken")
    judgments.wait()
    assert Run.objects.count() == 1 and not judgments.labels(rain)
    assert LaterAsk.objects.get().status == "done"


def test_an_unknown_handler_is_refused(judgments, rain):
    with pytest.raises(ValueError, match="no handler"):
        judge_later(rain, "x", session=S, then="weather.nobody")


def test_a_dead_workers_ask_is_taken_up_and_told_once(judgments, rain, heard, monkeypatch):
    judgments.answer(rain, 0.9)
    judge_later(rain, "x", session=S, then="weather.heard")
    (dead,) = leases.claim(LaterAsk.objects.all(), at=timezone.now())
    leases.guarded(dead, status="running")
    judgments.wait()
    assert not heard
    LaterAsk.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    judgments.wait()
    assert [r.p() for r in heard] == [0.9]
    # The dead one wakes up after all.
    later._run(dead)
    assert len(heard) == 1 and Run.objects.count() == 1


def test_our_own_failure_is_tried_three_times(judgments, rain, heard, monkeypatch):
    judgments.answer(rain, 0.9)

    def broken(*args, **kwargs):
        raise RuntimeError("bug")

    monkeypatch.setattr(asking, "send", broken)
    run_id = judge_later(rain, "x", session=S, then="weather.heard")
    labels.label(run_id, "wet", by="user")
    for _ in range(4):
        assert not heard or LaterAsk.objects.get().status == "done"
        LaterAsk.objects.update(due_at=timezone.now())
        later.run_waiting(Deadline(5))
    assert [(r.reason, r.failure, r.run_id, r.mode) for r in heard] == [("failed", "refused", run_id, "on")]
    run = Run.objects.get()
    assert (str(run), run.failure, run.state, run.n_labels, run.answers) == (run_id, "refused", "x", 1, None)
    assert run.failure_text == "Our own error, no host's: RuntimeError: bug"


def test_a_callable_that_breaks_on_the_worker_ends_with_a_run_too(judgments, heard):
    given = [NOUL]
    registry.declare("weather.snow", questions=lambda state: given[0])
    judgments.answer("weather.snow", 0.9)
    run_id = judge_later("weather.snow", "x", session=S, then="weather.heard")
    given[0] = {}
    for _ in range(3):
        LaterAsk.objects.update(due_at=timezone.now())
        later.run_waiting(Deadline(5))
    assert [(r.reason, r.run_id) for r in heard] == [("failed", run_id)]
    run = Run.objects.get()
    assert (str(run), run.version.questions) == (run_id, {}) and "BadDeclaration" in run.failure_text
    assert replay.replay("weather.snow").failures == {"bad_questions": 1}


def test_an_ask_that_kills_its_workers_ends_as_failed(judgments, rain, heard):
    judgments.answer(rain, 0.9)
    run_id = judge_later(rain, "x", session=S, then="weather.heard")
    for _ in range(later.MAX_TRIES):
        (dead,) = leases.claim(LaterAsk.objects.all(), at=timezone.now())
        leases.guarded(dead, status="running")
        LaterAsk.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    judgments.wait()
    judgments.wait()
    assert [(r.reason, r.run_id) for r in heard] == [("failed", run_id)] and not judgments.asks
    run = Run.objects.get()
    assert (str(run), run.failure) == (run_id, "refused") and "died 3 times" in run.failure_text


def test_it_belongs_to_the_callers_transaction(judgments, rain):
    judgments.answer(rain, 0.9)

    class Undo(Exception):
        pass

    with pytest.raises(Undo), transaction.atomic():
        judge_later(rain, "x", session=S)
        raise Undo
    assert not LaterAsk.objects.exists()


def test_a_label_may_come_before_the_answer(judgments, rain):
    judgments.answer(rain, 0.9)
    run_id = judge_later(rain, "x", session=S)
    labels.label(run_id, "wet", by="user")
    judgments.wait()
    assert Run.objects.get().n_labels == 1


def test_closed_asks_are_forgotten_after_a_day(judgments, rain):
    judgments.answer(rain, 0.9)
    judge_later(rain, "x", session=S)
    judgments.wait()
    assert later.forget_done(timezone.now()) == 0
    assert later.forget_done(timezone.now() + timedelta(days=2)) == 1
