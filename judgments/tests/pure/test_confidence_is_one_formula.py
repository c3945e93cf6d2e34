"""Confidence, score and level follow from the probabilities alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jevcompat import validate

from judgments.questions import Question
from judgments.typed import choice_confidence, expected_score, score_confidence, typed_answer


def distributions(least, most):
    weights = st.lists(st.floats(0.001, 1.0), min_size=least, max_size=most)
    return weights.map(lambda found: [w / sum(found) for w in found])


@given(distributions(1, 255))
def test_a_choice_is_as_sure_as_its_top_option_is_above_chance(found):
    assert choice_confidence(found) == pytest.approx(validate.choice_confidence(found), abs=1e-9)
    assert 0 <= choice_confidence(found) <= 1


@given(distributions(2, 10))
def test_a_score_is_less_sure_the_further_its_weight_lies(found):
    assert score_confidence(found) == pytest.approx(validate.score_confidence(found), abs=1e-9)
    assert 0 <= expected_score(found) <= len(found) - 1


@given(st.integers(2, 10))
def test_a_flat_answer_has_no_confidence_and_a_certain_one_has_all(n):
    flat, certain = [1 / n] * n, [1.0] + [0.0] * (n - 1)
    assert choice_confidence(flat) == pytest.approx(0, abs=1e-9)
    assert choice_confidence(certain) == score_confidence(certain) == pytest.approx(1)


def test_one_option_is_certain():
    assert choice_confidence([1.0]) == 1


def test_the_level_is_the_most_likely_one_and_the_score_the_mean():
    question = Question("q", "score", "?", ["low", "mid", "high"])
    answer = typed_answer(question, [0.5, 0.1, 0.4])
    assert answer.level == "low"
    assert answer.score == pytest.approx(0.9)
    assert answer.legend == {"0": "low", "1": "mid", "2": "high"}


@pytest.mark.parametrize("numbers", [0.5, [0.5], [0.2, 0.3, 0.5]])
def test_numbers_that_do_not_fit_the_question_are_an_error(numbers):
    with pytest.raises(ValueError, match="needs 2 numbers"):
        typed_answer(Question("q", "choice", None, {"a": None, "b": None}), numbers)
    with pytest.raises(ValueError, match="one number"):
        typed_answer(Question("q", "noul", "?"), [0.1])
