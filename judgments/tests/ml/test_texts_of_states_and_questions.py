"""States become texts whole; a question's digest ignores ids and the order of options."""

from __future__ import annotations

from typing import Any

import pytest

from judgments.ml import rendering
from judgments.questions import read_question


def question(wire, key="q"):
    found, problems = read_question(key, wire)
    assert found is not None, problems
    return found


def test_objects_and_arrays_become_lines():
    assert rendering.plain({"a": ["x", 1, None], "b": "y"}) == "a: x\n1\nnull\nb: y"


def test_any_depth_is_read():
    deep: Any = "end"
    for _ in range(900):
        deep = [deep]
    assert "end" in rendering.plain(deep)


@pytest.mark.parametrize("n", [1, 10, 11, 27, 100])
def test_windows_overlap_and_hold_every_token(n):
    found = rendering.windows(list(range(n)), 10, 3)
    assert sorted({token for window in found for token in window}) == list(range(n))
    assert all(len(window) <= 10 for window in found)
    assert all(a[-3:] == b[:3] for a, b in zip(found, found[1:], strict=False))


def test_ids_and_option_order_do_not_change_the_digest_and_wording_does():
    criteria = {"a": "1", "b": "2"}
    wire = {"type": "choice", "instructions": "Which?", "criteria": criteria}
    key = rendering.question_key(question(wire))
    turned = {**wire, "criteria": dict(reversed(criteria.items()))}
    assert rendering.question_key(question(turned, "other")) == key
    assert rendering.question_key(question({**wire, "instructions": "What?"})) != key


def test_the_order_of_levels_changes_the_digest():
    a = question({"type": "score", "criteria": ["low", "high"]})
    b = question({"type": "score", "criteria": ["high", "low"]})
    assert rendering.question_key(a) != rendering.question_key(b)
