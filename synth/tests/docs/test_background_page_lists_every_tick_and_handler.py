"""docs/background.md has a row for everything that happens without a click."""

from __future__ import annotations

from synth.docs_pages import background

PAGE = """
| tick | every |
| --- | --- |
| `a.b_done` | 60 s |

| event | handler |
| --- | --- |
| `a.x_made` | `b.note_x` |
"""


def test_a_page_that_says_it_all_has_no_problems():
    assert background.problems(["a.b_done"], [("a.x_made", "b.note_x")], PAGE) == []


def test_what_only_the_code_knows_is_named():
    pairs = [("a.x_made", "b.note_x"), ("a.x_made", "b.z")]
    assert background.problems(["a.b_done", "a.c"], pairs, PAGE) == [
        "tick a.c is registered but docs/background.md has no row",
        "handler b.z of a.x_made is registered but docs/background.md has no row",
    ]


def test_what_only_the_page_knows_is_named():
    assert background.problems([], [], PAGE) == [
        "tick a.b_done is in docs/background.md but not registered",
        "handler b.note_x of a.x_made is in docs/background.md but not registered",
    ]
