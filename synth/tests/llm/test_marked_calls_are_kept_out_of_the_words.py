"""Tool calls between marks are found however a reply is cut, and never shown; other words are never lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.llm.marked_calls import CLOSE, OPEN, Words

CALL = f'{OPEN}\n{{"name": "bell_ring", "arguments": {{"times": 2}}}}\n{CLOSE}'


def read(raw, cuts=(), *, has_calls=True):
    words, said, start = Words(has_calls=has_calls), "", 0
    for end in [*sorted(cuts), len(raw)]:
        said += words.feed(raw[start:end])
        start = max(start, end)
    said += words.end()
    assert said == words.text
    return said, [(call.name, call.arguments) for call in words.calls]


@given(st.lists(st.integers(0, 140), max_size=12))
def test_any_cut_gives_the_same(cuts):
    raw = f"Well, 1 < 2.{CALL}{CALL}"
    cuts = [cut for cut in cuts if cut < len(raw)]
    assert read(raw, cuts) == ("Well, 1 < 2.", [("bell_ring", '{"times": 2}')] * 2)


@given(st.text("<tol_ca>x/", max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_words_that_only_look_like_marks_are_said(raw, cuts):
    if OPEN not in raw:
        assert read(raw, [cut for cut in cuts if cut < len(raw)]) == (raw, [])


@pytest.mark.parametrize("inside", ["", "nonsense", "[]", '{"name": "bell', '{"arguments": {}}', "[" * 9_000])
def test_marks_around_something_else_are_words(inside):
    assert read(f"So {OPEN}{inside}") == (f"So {OPEN}{inside}", [])


def test_arguments_at_the_depth_where_reading_and_writing_end_are_words_or_a_call():
    for depth in range(880, 1_010, 2):
        arguments = '{"a": ' * depth + "1" + "}" * depth
        raw = f'So {OPEN}{{"name": "bell_ring", "arguments": {arguments}}}'
        assert read(raw) in ((raw, []), ("So ", [("bell_ring", arguments)]))


def test_what_is_only_thought_of_is_not_called():
    for thought in (f"<think>Or {CALL}?</think>", f"Or {CALL}?</think>", f"Or {OPEN}? </think>"):
        assert read(f"{thought}No.") == (f"{thought}No.", [])
        said, calls = read(f"{thought}Yes. {CALL}", range(0, 200, 3))
        assert (said[-5:], calls) == ("Yes. ", [("bell_ring", '{"times": 2}')])
    assert read(f"<think>Or {CALL}") == (f"<think>Or {CALL}", [])


def test_an_argument_may_hold_the_end_of_a_thought():
    for mark in ("</think>", "<think>"):
        raw = f'{OPEN}{{"name": "say", "arguments": {{"text": "{mark}"}}}}{CLOSE}'
        assert read(raw, range(0, 90, 3)) == ("", [("say", f'{{"text": "{mark}"}}')])


def test_words_after_and_between_calls_are_kept():
    assert read(f"Hm.\n{CALL}\nand\n{CALL} Done. ")[0] == "Hm.\nand Done."
    assert read(f"Hm.{CALL}Done.", range(0, 80, 7))[0] == "Hm. Done."


def test_a_call_may_lack_its_end_mark():
    assert read(CALL.removesuffix(CLOSE))[1] == [("bell_ring", '{"times": 2}')]


def test_without_tools_marks_are_words():
    assert read(CALL, has_calls=False) == (CALL, [])
