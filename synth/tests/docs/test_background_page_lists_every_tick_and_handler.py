"""docs/background.md has a row for everything that happens without a click."""

from __future__ import annotations

from synth.background import TICKS
from synth.docs_pages import background, tables
from synth.services import outbox

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


def test_the_real_page_matches_the_registered_ticks_and_handlers():
    pairs = [(subscription.event, name) for name, subscription in outbox.HANDLERS.items()]
    assert background.problems(TICKS, pairs) == []


def test_every_row_of_the_page_is_filled_in():
    rows = list(tables.read(background.PAGE.read_text(encoding="utf-8")))
    assert [row for row in rows if not all(row.values())] == []


def test_the_page_gives_each_tick_the_interval_it_is_registered_with():
    spoken = {"60 s": 60, "1 h": 3600, "1 day": 86_400}
    rows = [row for row in tables.read(background.PAGE.read_text(encoding="utf-8")) if "tick" in row]
    assert {row["tick"].strip("`"): spoken[row["every"]] for row in rows} == {
        name: plan.every_s for name, plan in TICKS.items()
    }
