"""An ask that names one of our readers is answered by it, and says so, or is refused."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from judgments.ml import artifacts, training  # noqa: E402
from judgments.ml.generated import rows  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.ml.rendering import FIELDS, question_key  # noqa: E402
from judgments.ml.runner import Runner  # noqa: E402
from judgments.services.training import question_of  # noqa: E402
from judgments.tests.ml.kit import reading  # noqa: E402
from synth.inference.wire import Problem  # noqa: E402

NAME = "growth.decision"
STATE = {"message": "Yes, that is you.", "last_line": "Shall I?"}
CHOICE = {"type": "choice", "criteria": {"a": "Cooking.", "b": "Trees."}}
NOUL = {"type": "noul", "instructions": "Is it so?"}


@pytest.fixture(scope="module")
def runner():
    found, asked = reading(), question_of(NAME)
    made = training.train(NAME, asked, rows(NAME, 80), found, FIELDS[NAME], epochs=1)
    data = artifacts.dumps(NAME, question_key(asked), "tiny", made.head, made.metrics)
    runner = Runner()
    runner.readers, runner.model = Readers(found, [artifacts.loads(data)]), "synth-systemone@12345678"
    return runner


def ask(runner, model, *questions, state=STATE):
    wire = {"model": model, "state": state, "questions": {str(n): q for n, q in enumerate(questions)}}
    (found,) = runner.run([{"ask": json.dumps(wire)}])
    return found


def decision():
    return question_of(NAME).as_wire()


def test_a_head_answers_its_question_under_its_own_name(runner):
    version = runner.readers.heads[0].about.version
    for model in (f"synth-{NAME}", f"synth-{NAME}@{version}"):
        found = ask(runner, model, decision())
        assert found["model"] == f"synth-{NAME}@{version}"
        assert found["answers"]["0"] == ask(runner, "jev-latest", decision())["answers"]["0"]


def test_a_head_refuses_what_it_was_not_trained_on(runner):
    for questions, state in [
        ((CHOICE,), STATE),
        ((decision(), NOUL), STATE),
        ((decision(),), {"words": "yes"}),
    ]:
        found = ask(runner, f"synth-{NAME}", *questions, state=state)
        assert isinstance(found, Problem) and found.code == "not_for_model" and NAME in found.text


def test_the_embedding_answers_choices_also_where_a_head_would(runner):
    found = ask(runner, "synth-embedding", decision(), CHOICE)
    assert found["model"] == "synth-embedding"
    assert {one["x_reader"] for one in found["answers"].values()} == {"embedding"}
    refused = ask(runner, "synth-embedding", NOUL)
    assert isinstance(refused, Problem) and "choices" in refused.text


@pytest.mark.parametrize(
    "model", ["synth-lm", "synth-systemone@00000000", "synth-growth.decision@00000000", "synth-x"]
)
def test_a_name_of_ours_that_is_not_here_is_refused(runner, model):
    found = ask(runner, model, decision())
    assert isinstance(found, Problem) and found.code == "not_for_model" and model in found.text


@pytest.mark.parametrize("model", ["jev-latest", "synth-systemone", "synth-systemone@12345678", "their-own"])
def test_other_names_mean_whichever_reader_is_best(runner, model):
    found = ask(runner, model, decision(), CHOICE)
    assert found["model"] == "synth-systemone@12345678"
    readers = [one["x_reader"].split(":")[0] for one in found["answers"].values()]
    assert readers == ["head", "embedding"]


def test_batch_mates_of_other_models_change_nothing(runner):
    wire = {"state": STATE, "questions": {"q": decision()}}
    models = ["synth-embedding", f"synth-{NAME}", "synth-nothing", "jev-latest"]
    batch = [{"ask": json.dumps({**wire, "model": model})} for model in models]
    together, alone = runner.run(batch), [runner.run([one])[0] for one in batch]
    for one, other in zip(together, alone, strict=True):
        if isinstance(one, Problem):
            assert one == other
            continue
        assert one["model"] == other["model"]
        pair = [found["answers"]["q"]["probabilities"] for found in (one, other)]
        assert max(abs(pair[0][key] - pair[1][key]) for key in pair[0]) < 1e-4
