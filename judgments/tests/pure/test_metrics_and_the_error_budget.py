"""Accuracy, Brier, calibration, histogram, the dial and option orders, against values done by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgments import dial, metrics, orders
from judgments.questions import Question

PAIRS = [(0.9, True), (0.8, True), (0.7, False), (0.2, False), (0.4, True)]


def test_accuracy_and_brier_are_as_by_hand():
    assert metrics.accuracy(PAIRS) == pytest.approx(3 / 5)
    assert metrics.brier(PAIRS) == pytest.approx((0.01 + 0.04 + 0.49 + 0.04 + 0.36) / 5)


def test_the_last_bin_holds_one():
    assert metrics.histogram([0.0, 0.05, 0.1, 0.99, 1.0]) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]


def test_calibration_error_is_the_weighted_gap_of_the_bins():
    pairs = [(0.9, True)] * 3 + [(0.9, False)] + [(0.1, False)] * 4
    assert metrics.ece(pairs) == pytest.approx(0.5 * 0.15 + 0.5 * 0.1)
    found = metrics.calibration(pairs)
    assert len(found.reliability) == 15
    assert [point.n for point in found.reliability if point.n] == [4, 4]
    assert found.reliability[0].share is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=200))
def test_every_figure_stays_in_its_range(pairs):
    found = metrics.calibration(pairs)
    assert 0 <= found.accuracy <= 1 and 0 <= found.brier <= 1 and 0 <= found.ece <= 1
    assert sum(point.n for point in found.reliability) == found.n == len(pairs)
    shown = dial.error_budget(metrics.certainties(pairs), 0.2, resamples=5)
    assert shown.wrong is None or shown.wrong <= 0.2
    assert 0 <= shown.coverage <= 1


def test_no_pairs_is_an_error_not_a_zero():
    for figure in (metrics.accuracy, metrics.brier, metrics.ece, metrics.calibration):
        with pytest.raises(ValueError, match="no labelled"):
            figure([])


def test_the_dial_covers_as_much_as_the_budget_allows():
    found = [(0.95, False)] * 95 + [(0.9, True)] * 5 + [(0.6, True)] * 100
    shown = dial.error_budget(found, 0.05)
    assert (shown.threshold, shown.coverage, shown.wrong) == (0.9, 0.5, 0.05)
    assert shown.coverage_interval and shown.wrong_interval
    assert shown.coverage_interval.low <= 0.5 <= shown.coverage_interval.high
    assert shown.wrong_interval.low <= 0.05 <= shown.wrong_interval.high


def test_the_dial_says_when_no_threshold_keeps_the_budget():
    shown = dial.error_budget([(0.9, True)] * 10, 0.05)
    assert (shown.threshold, shown.coverage) == (None, 0.0)
    assert dial.error_budget([], 0.05).n == 0


def test_the_same_seed_gives_the_same_interval():
    found = [(n / 1000, n % 3 == 0) for n in range(1000)]
    assert dial.error_budget(found, 0.3, seed=4) == dial.error_budget(found, 0.3, seed=4)


def test_a_budget_is_a_share():
    with pytest.raises(ValueError, match="share"):
        dial.error_budget([(0.5, True)], 5)


def test_option_orders_differ_and_are_always_the_same():
    question = Question("q", "choice", "?", {"a": None, "b": "x", "c": None})
    asked = orders.option_orders(question, 4)
    assert len({q.options for q in asked}) == 4 and asked[0].options == ("a", "b", "c")
    assert [q.options for q in asked] == [q.options for q in orders.option_orders(question, 4)]
    assert len(orders.option_orders(question, 50)) == 6
    assert orders.option_orders(Question("q", "noul", "?"), 4) == [Question("q", "noul", "?")]


def test_orders_are_averaged_and_their_instability_shown():
    found = orders.average([{"a": 0.8, "b": 0.2}, {"b": 0.6, "a": 0.4}])
    assert found.probabilities == pytest.approx({"a": 0.6, "b": 0.4})
    assert found.instability == pytest.approx(0.2)
    assert found.flips == 0.5
    with pytest.raises(ValueError, match="same options"):
        orders.average([{"a": 1.0}, {"b": 1.0}])
