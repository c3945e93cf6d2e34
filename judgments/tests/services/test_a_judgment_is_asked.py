"""`judge` gives answers or a reason; what it saves follows the table of reasons."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, connection, transaction

from judgments import registry, session
from judgments.models import JudgmentSetting, JudgmentVersion, Run
from judgments.registry import BadDeclaration, Undeclared
from judgments.services import asking, runs
from judgments.services.asking import BadState
from judgments.session import InStreamHandler
from synth.net.database import InTransaction

S = "api:test"
judge: Any = asking.judge


def test_an_answer_comes_with_its_run(judgments, rain):
    judgments.answer(rain, 0.9)
    result = judge(rain, {"sky": "grey"}, session=S)
    assert (result.p(), result.mode, result.audit, result.reason) == (0.9, "on", False, None)
    run = Run.objects.get()
    assert result.run_id == f"weather.rain/{run.pk}"
    assert (run.state, run.session_id, run.is_asked, run.failure) == ({"sky": "grey"}, S, True, "")
    assert (run.served_model, run.host) == ("scripted", "scripted")
    assert (run.positive, run.negative) == (["wet"], ["dry"])
    assert run.answers == {"q": {"type": "noul", "noul": 0.9}} and run.latency_ms is not None


def test_every_type_answers(judgments, many):
    judgments.answer(many, 0.8, question="q")
    judgments.answer(many, [0.1, 0.7, 0.2], question="kind")
    judgments.answer(many, [0, 0.25, 0.75], question="level")
    result = judge(many, "a state", session=S)
    assert result.p("q") == 0.8
    assert result.answer("kind").choice == "a" and result.answer("level").level == "much"
    with pytest.raises(ValueError, match="several questions"):
        result.p()


def test_audit_is_said_and_asks_all_the_same(judgments, rain):
    judgments.mode(rain, "audit")
    judgments.answer(rain, 0.2)
    result = judge(rain, "x", session=S)
    assert result.audit and result.p() == 0.2


@pytest.mark.parametrize("reason", ["off", "no_host", "no_session"])
def test_what_cannot_be_asked_leaves_no_run(judgments, rain, reason):
    if reason != "off":
        judgments.answer(rain, 0.9)
    if reason == "no_host":
        judgments.no_host(rain)
    result = judge(rain, "x", session=None if reason == "no_session" else S)
    assert (result.reason, result.run_id, result.no_judgment) == (reason, None, True)
    assert not judgments.asks and not Run.objects.exists()


def test_the_reasons_come_in_the_order_of_the_table(judgments, rain):
    judgments.shared_host_busy()
    judgments.no_host(rain)
    assert judge(rain, "x").reason == "no_host"
    judgments.mode(rain, "off")
    assert judge(rain, "x").reason == "off"
    judgments._without_host.clear()
    judgments.mode(rain, "on")
    assert judge(rain, "x").reason == "no_session"
    assert judge(rain, "x", session=S).reason == "shared_host"


def test_a_failing_host_is_one_run_with_one_word(judgments, rain):
    judgments.fail(rain, "overloaded", "busy, sorry")
    result = judge(rain, "x", session=S)
    assert (result.reason, result.failure, result.p()) == ("failed", "overloaded", None)
    run = Run.objects.get()
    assert (run.failure, run.failure_text, run.answers) == ("overloaded", "busy, sorry", None)


def test_a_bad_answer_fails_the_whole_ask(judgments, many):
    judgments.answer(many, {"q": {"type": "noul", "noul": 0.5}})
    result = judge(many, "x", session=S)
    assert (result.reason, result.failure, dict(result.answers)) == ("failed", "bad_answer", {})


def test_a_stopped_turn_cancels(judgments, rain):
    judgments.answer(rain, 0.9)
    result = judge(rain, "x", session=S, is_cancelled=lambda: True)
    assert (result.reason, Run.objects.get().failure) == ("cancelled", "cancelled")


def test_a_busy_shared_host_is_a_run_that_was_not_asked(judgments, rain):
    judgments.answer(rain, 0.9)
    judgments.shared_host_busy()
    result = judge(rain, "x", session=S)
    run = Run.objects.get()
    assert (result.reason, result.run_id) == ("shared_host", str(run))
    assert (run.is_asked, run.skipped) == (False, "shared_host")
    assert not judgments.asks


def test_a_judgment_may_ask_a_busy_shared_host(judgments):
    registry.declare("weather.now", questions={"q": {"type": "noul", "instructions": "?"}}, shared_host="ask")
    judgments.answer("weather.now", 0.9)
    judgments.shared_host_busy()
    assert judge("weather.now", "x", session=S).p() == 0.9


def test_a_bound_session_counts(judgments, rain):
    judgments.answer(rain, 0.9)
    with session.bind("cycle:7"):
        assert judge(rain, "x").p() == 0.9
    assert Run.objects.get().session_id == "cycle:7"


def test_only_mistakes_of_the_caller_raise(judgments, rain):
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(Undeclared, match="Did you mean weather.rain"):
        judge("weather.rein", "x", session=S)
    for state in (None, 7, 1.5, deep, {"x": object()}, {"x": float("nan")}):
        with pytest.raises(BadState):
            judge(rain, state, session=S)
    registry.declare("weather.bad", questions=lambda state: {"q": {"type": "box"}})
    with pytest.raises(BadDeclaration, match="'q'"):
        judge("weather.bad", "x", session=S)
    with session.stream_handler(), pytest.raises(InStreamHandler):
        judge(rain, "x", session=S)
    with pytest.raises(ValueError, match="session"):
        judge(rain, "x", session="somewhere")


@pytest.mark.django_db(transaction=True)
def test_nobody_asks_inside_a_transaction(rain):
    with transaction.atomic(), pytest.raises(InTransaction):
        judge(rain, "x", session=S)


def test_the_order_of_options_makes_another_version(judgments):
    for n, order in enumerate((["x", "y"], ["y", "x"], ["x", "y"])):
        name = f"weather.order{min(n, 1)}"
        if n < 2:
            registry.declare(name, questions={"q": {"type": "choice", "criteria": dict.fromkeys(order)}})
        judgments.answer(name, [0.5, 0.5])
        judge(name, "x", session=S)
    first, second = JudgmentVersion.objects.order_by("id")
    assert list(first.questions["q"]["criteria"]) == ["x", "y"]
    assert list(second.questions["q"]["criteria"]) == ["y", "x"]
    assert first.criteria_digest != second.criteria_digest
    assert first.instructions_digest == second.instructions_digest


def test_one_wording_is_one_version(judgments, rain):
    judgments.answer(rain, 0.9)
    for _ in range(3):
        judge(rain, "x", session=S)
    assert (JudgmentVersion.objects.count(), Run.objects.count()) == (1, 3)


def test_a_long_state_is_cut_in_the_record_only(judgments, rain):
    judgments.answer(rain, 0.9)
    state = {"text": "ж" * 20_000}
    judge(rain, state, session=S)
    run = Run.objects.get()
    assert run.is_truncated and isinstance(run.state, str) and run.state.startswith('{"text":"жж')
    assert len(run.state.encode()) <= 16 * 1024 and run.n_bytes <= 17 * 1024
    assert judgments.asks[0].state == state


def test_what_is_not_utf8_is_replaced(judgments, rain):
    judgments.answer(rain, 0.9)
    assert judge(rain, {"a\x00": "b\ud800"}, session=S).p() == 0.9
    assert Run.objects.get().state == {"a\ufffd": "b\ufffd"} == judgments.asks[0].state


def test_saving_can_be_switched_off(judgments, rain, monkeypatch):
    judgments.answer(rain, 0.9)
    monkeypatch.setenv("SYSTEM_ONE_RUNS", "off")
    result = judge(rain, "x", session=S)
    assert (result.p(), result.run_id) == (0.9, None) and not Run.objects.exists()


@pytest.mark.parametrize("error", [DatabaseError("disk full"), InterfaceError("closed"), RecursionError()])
def test_a_run_that_cannot_be_saved_changes_no_answer(judgments, rain, monkeypatch, error):
    judgments.answer(rain, 0.9)

    def broken(draft):
        raise error

    monkeypatch.setattr(runs, "insert", broken)
    result = judge(rain, "x", session=S)
    assert (result.p(), result.run_id) == (0.9, None)


def test_guests_and_warm_ups_leave_nothing(judgments, rain):
    judgments.answer(rain, 0.9)
    assert judge(rain, "x", session=S, is_saved=False).run_id is None
    assert not Run.objects.exists()


def test_runs_quoted_in_a_state_are_remembered(judgments, rain):
    judgments.answer(rain, 0.9)
    first = judge(rain, "x", session=S).run_id
    judge(rain, {"earlier": f"see {first}"}, session=S)
    judge(rain, "z", session=S, quotes=[first])
    key = first.partition("/")[2]
    assert [run.quotes for run in Run.objects.order_by("at")] == [[], [key], [key]]


@pytest.mark.parametrize("letters", ["a", "a.", "a-.a/"])
def test_long_words_are_looked_through_for_quotes_at_once(judgments, rain, letters):
    # Each letter was tried as the beginning of a name: half a million took hours, nothing else ran meanwhile.
    judgments.answer(rain, 0.9)
    first = judge(rain, "x", session=S).run_id
    started = time.monotonic()
    judge(rain, f"{letters * 500_000}/ {first} a/{first.partition('/')[2][::-1]}", session=S)
    assert time.monotonic() - started < 10
    assert Run.objects.latest("at").quotes == [first.partition("/")[2]]


def test_settings_without_a_row_are_off(db, rain):
    assert not JudgmentSetting.objects.exists()
    assert judge(rain, "x", session=S).reason == "off"


def test_the_callers_questions_may_depend_on_the_state(judgments):

    def ask(state):
        return {"q": {"type": "choice", "criteria": dict.fromkeys(state["names"])}}

    registry.declare("weather.pick", questions=ask)
    judgments.answer("weather.pick", [0.1, 0.9])
    assert judge("weather.pick", {"names": ["sun", "rain"]}, session=S).answer().choice == "rain"
    assert asking.ids(judgments.asks[0].questions) == ("q",)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", [S, "dialogue:00000000-0000-0000-0000-000000000001"])
def test_without_a_database_it_gives_a_reason_too(judgments, rain, monkeypatch, name):
    judgments.answer(rain, 0.9)
    connection.close()
    with monkeypatch.context() as patch, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patch.setitem(connection.settings_dict, "PORT", str(nobody.getsockname()[1]))
        result = judge(rain, "x", session=name)
        with pytest.raises(Undeclared):
            judge("weather.none", "x", session=name)
        with pytest.raises(BadState):
            judge(rain, 7, session=name)
    connection.close()
    assert (result.no_judgment, result.reason, result.failure) == (True, "failed", "unreachable")
    assert result.run_id is None and not Run.objects.exists() and not judgments.asks
    assert judge(rain, "x", session=S).p() == 0.9
