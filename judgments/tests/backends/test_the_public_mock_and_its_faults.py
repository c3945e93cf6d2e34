"""The public mock server as the client's peer: all of its faults, each in a real process of its own."""

import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest
from jevcompat.mock import FAULTS

from judgments import backends
from judgments.backends import Failure, HostConfig
from judgments.questions import Ask, Question
from judgments.tests.backends.asks import ASK, JUST_NOUL, KEY


def noul(**changes):
    return Ask("jev-latest", "s", (Question("n", "noul", **{"instructions": "?", **changes}),))


def levels(n):
    return Ask("jev-latest", "s", (Question("s", "score", "?", [f"level {i}" for i in range(n)]),))


def choice(criteria):
    return Ask("jev-latest", "s", (Question("c", "choice", "?", criteria),))


LIST_STATE = Ask("jev-latest", ["a", "b"], JUST_NOUL.questions)
UNKNOWN = {"model": "no-such-model"}

# fault → (the ask, the word it must end in or None for an answer, part of the text, changes of the host)
EXPECTED: dict[str, tuple[Ask, str | None, str, dict[str, Any]]] = {
    "wrong-route": (ASK, "refused", "No route", {}),
    "xssi-200": (ASK, "bad_answer", "not JSON", {}),
    "plain-content-type": (ASK, None, "", {}),
    "text-errors": (ASK, "refused", "Unknown model", UNKNOWN),
    "models-404": (ASK, None, "", {}),
    "auth-rejects-header": (ASK, "refused", "takes no key", {}),
    "auth-x-api-key": (ASK, "refused", "Must supply", {}),
    "auth-plain": (ASK, "refused", "Unauthorized", {"key": ""}),
    "auth-invalid-403-text": (ASK, "refused", "bad key", {"key": "wrong"}),
    "reject-array-state": (LIST_STATE, "refused", "state", {}),
    "reject-jev-latest": (ASK, "refused", "not served", {}),
    "first-question-only": (ASK, "bad_answer", "missing", {}),
    "strict-ids": (ASK, "refused", "Question id", {}),
    "nfd-keys": (ASK, "bad_answer", "options", {}),
    "forbid-extra": (ASK, None, "", {}),
    "string-only-text": (noul(instructions={"task": "x"}), "refused", "valid string", {}),
    "noul-two-sided": (noul(criteria={"true": "x"}), "refused", "required", {}),
    "noul-needs-instructions": (noul(instructions=None, criteria={"true": "x"}), "refused", "required", {}),
    "no-null-description": (ASK, "refused", "valid string", {}),
    "cap-64": (choice({f"o{n}": "x" for n in range(255)}), "refused", "64", {}),
    "cap-5-levels": (levels(10), "refused", "5 items", {}),
    "accept-map-score": (ASK, None, "", {}),
    "no-usage": (ASK, None, "", {}),
    "float-usage": (ASK, None, "", {}),
    "extra-answer": (ASK, None, "", {}),
    "boolean-type": (ASK, "bad_answer", "type noul", {}),
    "nan": (ASK, "bad_answer", "NaN", {}),
    "unprefixed-extra": (ASK, None, "", {}),
    "noul-range": (ASK, "bad_answer", "0..1", {}),
    "choice-no-confidence": (ASK, None, "", {}),
    "choice-key-case": (ASK, "bad_answer", "options", {}),
    "choice-sum": (ASK, "bad_answer", "sum", {}),
    "choice-second": (ASK, "bad_answer", "most likely", {}),
    "score-no-legend": (ASK, None, "", {}),
    "legend-1-based": (ASK, "bad_answer", "legend", {}),
    "score-keys-1-based": (ASK, "bad_answer", "options", {}),
    "score-sum": (ASK, "bad_answer", "sum", {}),
    "score-argmax": (ASK, "bad_answer", "mean", {}),
    "confidence-over": (ASK, "bad_answer", "confidence", {}),
    "confidence-margin": (ASK, None, "", {}),
    "500-on-unknown-type": (Ask("m", "s", (Question("q", "box", "?"),)), "overloaded", "KeyError", {}),
    "accept-boolean": (ASK, None, "", {}),
    "validation-400": (levels(11), "refused", "at most 10", {}),
    "error-flat": (ASK, "refused", "Unknown model", UNKNOWN),
    "id-leaks": (ASK, None, "", {}),
    "batch-leaks": (ASK, None, "", {}),
    "order-leaks": (ASK, None, "", {}),
}
NEEDS_KEY = {"auth-x-api-key", "auth-plain", "auth-invalid-403-text"}


def start(*arguments):
    """The mock in its own process, and its port once it listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "import sys; from jevcompat.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "mock", "--port", str(port), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return process, port
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise AssertionError("the mock did not start")


def stop(process):
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def test_every_fault_has_its_expectation():
    assert set(EXPECTED) == set(FAULTS) and len(FAULTS) == 47


def test_the_clean_mock_answers_and_its_confidence_is_ours():
    process, port = start("--key", KEY)
    try:
        reply = backends.ask(HostConfig(f"http://127.0.0.1:{port}", key=KEY), ASK, 10)
    finally:
        stop(process)
    assert reply.served_model == "jevcompat-mock-0.1" and reply.request_id == "req_mock"
    assert reply.typed["café-1"].confidence == pytest.approx(reply.typed["café-1"].host_confidence)
    assert reply.typed["s"].confidence == pytest.approx(reply.typed["s"].host_confidence)


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_gives_the_right_word(fault, caplog):
    ask, word, text, changes = EXPECTED[fault]
    caplog.set_level("DEBUG")
    extra = ["--key", KEY] if fault in NEEDS_KEY else []
    process, port = start("--fault", fault, *extra)
    host = replace(HostConfig(f"http://127.0.0.1:{port}", key=KEY), **changes)
    try:
        if word is None:
            assert list(backends.ask(host, ask, 10).typed) == [q.id for q in ask.questions]
        else:
            with pytest.raises(Failure) as caught:
                backends.ask(host, ask, 10)
            assert caught.value.word == word
            assert text in caught.value.text
            assert KEY not in str(caught.value)
    finally:
        stop(process)
    assert KEY not in caplog.text
