"""Retries in the background only, the circuit breaker, the limit of asks at once, and cancelling."""

import threading
import time
from datetime import UTC, datetime

import pytest

from judgments import backends
from judgments.backends import Failure, HostConfig
from judgments.backends.breaker import Breaker
from judgments.backends.errors import retry_after_s
from judgments.tests.backends.asks import JUST_NOUL, good
from synth.testing.scripted_host import ScriptedHost

BUSY = {"status": 529, "body": {"detail": {"message": "full"}}, "headers": {"Retry-After-Ms": "20"}}


def config(host, **changes):
    return HostConfig(f"http://127.0.0.1:{host.port}", **changes)


def test_a_synchronous_ask_is_never_sent_twice():
    with ScriptedHost([BUSY, {"body": good()}]) as host, pytest.raises(Failure) as caught:
        backends.ask(config(host), JUST_NOUL, 5)
    assert (caught.value.word, len(host.requests)) == ("overloaded", 1)
    assert caught.value.retry_after_s == pytest.approx(0.02)


@pytest.mark.parametrize("trouble", [BUSY, {**BUSY, "status": 429}, {"drop": "before"}])
def test_a_background_ask_is_tried_at_most_twice_more(trouble):
    with ScriptedHost([trouble, BUSY, {"body": good()}]) as host:
        assert backends.ask(config(host), JUST_NOUL, 20, retries=2).n_tries == 3
    with ScriptedHost([BUSY] * 4) as host, pytest.raises(Failure):
        backends.ask(config(host), JUST_NOUL, 20, retries=9)
    assert len(host.requests) == 3


@pytest.mark.parametrize("reply", [{"status": 400, "body": {}}, {"raw": "<html>"}])
def test_what_would_only_fail_again_is_not_retried(reply):
    with ScriptedHost([reply, {"body": good()}]) as host, pytest.raises(Failure):
        backends.ask(config(host), JUST_NOUL, 5, retries=2)
    assert len(host.requests) == 1


def test_a_wait_longer_than_the_deadline_is_not_waited():
    reply = {**BUSY, "headers": {"Retry-After": "30"}}
    started = time.monotonic()
    with ScriptedHost([reply, {"body": good()}]) as host, pytest.raises(Failure) as caught:
        backends.ask(config(host), JUST_NOUL, 2, retries=2)
    assert caught.value.word == "overloaded" and time.monotonic() - started < 2


def test_retry_after_is_read_in_every_form():
    at = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
    assert retry_after_s({"retry-after": "3"}, at) == 3
    assert retry_after_s({"retry-after": "3", "retry-after-ms": "250"}, at) == 0.25
    assert retry_after_s({"retry-after": "Mon, 02 Nov 2026 09:00:30 GMT"}, at) == 30
    assert retry_after_s({"retry-after": "1e9"}, at) == 3600
    assert retry_after_s({"retry-after": "-5"}, at) == 0
    for nonsense in ("soon", "nan", "inf", ""):
        assert retry_after_s({"retry-after": nonsense}, at) is None


def test_a_circuit_opens_after_five_failures_and_lets_one_try_later():
    circuit = Breaker()
    for _ in range(5):
        assert circuit.enter(0) is False
        circuit.leave(0, "timeout")
    with pytest.raises(Failure, match="circuit is open") as caught:
        circuit.enter(9)
    assert caught.value.word == "timeout"
    assert circuit.enter(10) is True
    with pytest.raises(Failure):
        circuit.enter(10)
    circuit.leave(10, "unreachable", is_try=True)
    with pytest.raises(Failure):
        circuit.enter(29)
    assert circuit.enter(30) is True
    circuit.leave(30, None, is_try=True)
    assert circuit.enter(30) is False


def test_a_host_that_refuses_or_answers_badly_is_not_down():
    circuit = Breaker()
    for word in ("refused", "bad_answer", None) * 5:
        circuit.leave(0, word)
    assert circuit.enter(0) is False


def test_a_dead_host_costs_nothing_once_its_circuit_is_open():
    with ScriptedHost([BUSY] * 9) as host:
        for _ in range(7):
            with pytest.raises(Failure) as caught:
                backends.ask(config(host), JUST_NOUL, 5)
            assert caught.value.word == "overloaded"
        assert len(host.requests) == 5


def test_asks_over_the_limit_wait_and_end_at_their_deadline():
    stop = threading.Event()
    with ScriptedHost([{"hang": True}] * 3) as host:
        limited = config(host, max_at_once=1)

        def hold_the_only_place():
            with pytest.raises(Failure, match="cancelled"):
                backends.ask(limited, JUST_NOUL, 60, is_cancelled=stop.is_set)

        holding = threading.Thread(target=hold_the_only_place)
        holding.start()
        while not host.requests:
            time.sleep(0.01)
        for _ in range(2):
            with pytest.raises(Failure) as caught:
                backends.ask(limited, JUST_NOUL, 0.3)
            assert caught.value.word == "timeout"
        assert len(host.requests) == 1
        stop.set()
        holding.join(10)
        assert not holding.is_alive()


def test_a_cancelled_ask_returns_at_once():
    stop = threading.Event()
    with ScriptedHost([{"hang": True}]) as host:
        threading.Timer(0.1, stop.set).start()
        started = time.monotonic()
        with pytest.raises(Failure) as caught:
            backends.ask(config(host), JUST_NOUL, 30, is_cancelled=stop.is_set)
        assert caught.value.word == "cancelled" and time.monotonic() - started < 5
        with pytest.raises(Failure, match="cancelled"):
            backends.ask(config(host), JUST_NOUL, 30, is_cancelled=stop.is_set)
        assert len(host.requests) == 1


def test_an_ask_that_may_be_cancelled_gives_its_answer_or_failure():
    with ScriptedHost([{"body": good()}, {"status": 400, "body": {}}]) as host:
        assert backends.ask(config(host), JUST_NOUL, 5, is_cancelled=lambda: False).typed["n"].noul == 0.9
        with pytest.raises(Failure, match="refused"):
            backends.ask(config(host), JUST_NOUL, 5, is_cancelled=lambda: False)
