"""Accuracy, majority, calibration and AUROC on rows whose answers are known."""

from __future__ import annotations

import pytest

from judgments.ml.measured import Outcome, auroc, ece, metrics


def test_perfect_answers():
    found = metrics([Outcome("true", "en", [1.0, 0.0], 0), Outcome("false", "de", [0.0, 1.0], 1)])
    assert (found["accuracy"], found["auroc"], found["ece"], found["brier"]) == (1.0, 1.0, 0.0, 0.0)
    assert found["by_language"] == {"de": [1.0, 1], "en": [1.0, 1]}


def test_overconfident_answers_have_a_calibration_error():
    assert ece([(0.9, True), (0.9, False)]) == pytest.approx(0.4)


def test_auroc_counts_ties_half_and_one_class_says_nothing():
    assert auroc([(0.5, True), (0.5, False)]) == 0.5
    assert auroc([(0.9, True)]) == 0.5


def test_without_rows_there_are_no_numbers():
    assert metrics([]) == {"n_test": 0}
