"""Comparing two selves takes bounded work, whatever the texts, and the runs always add up to both of them."""

from __future__ import annotations

import time
from difflib import SequenceMatcher

import pytest

from growth.services.bounded_diff import BoundedMatcher
from growth.services.diff import split, word_diff

PAIRS = [
    ("的" * 4000, "一的" * 2000),
    ("的一" * 2000, "一的" * 2000),
    ("a " * 2000, "b a " * 1000),
    (". " * 2000, ", . " * 1000),
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_repetitive_texts_are_compared_in_seconds(old: str, new: str) -> None:
    began = time.monotonic()
    runs = word_diff(old, new)
    assert time.monotonic() - began < 20
    assert "".join(run["text"] for run in runs if run["op"] != "insert") == old
    assert "".join(run["text"] for run in runs if run["op"] != "delete") == new


def test_ordinary_texts_are_compared_as_finely_as_ever() -> None:
    words = [f"word{n * 7919 % 613}" for n in range(600)]
    old = " ".join(words)
    new = " ".join(word for n, word in enumerate(words) if n % 5) + " and so it ended."
    a, b = split(old), split(new)
    assert BoundedMatcher(a, b).get_opcodes() == SequenceMatcher(None, a, b, autojunk=False).get_opcodes()


def test_what_is_left_when_the_steps_are_used_up_counts_as_different() -> None:
    assert BoundedMatcher(["a", "b"], ["a", "b"], max_steps=1).get_opcodes() == [("replace", 0, 2, 0, 2)]
