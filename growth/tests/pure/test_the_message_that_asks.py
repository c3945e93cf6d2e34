"""What a trainer is sent: the reflection, what changes, why, and how to decide; from a template alone."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.proposal_text import Facts, list_lines, marked_diff, message, not_rewritten, stale

BASE = Facts(
    number=12, agent="Wren", content="I like plum cake.", likes=["a", "c"], dislikes=["noise"],
    base_content="I like tea.", base_likes=["a", "b"], base_dislikes=["noise"],
    quotes=["plum cake at night"], days=(date(2026, 11, 22), date(2026, 11, 28)),
    expires_at=datetime(2026, 12, 13, 3, 0, tzinfo=UTC),
)  # fmt: skip


def body(**changes):
    return message(Facts(**{**vars(BASE), **changes}))[1]


def test_it_shows_text_diff_lists_why_and_how():
    title, text = message(BASE)
    assert title == "Wren asks: proposal 12"
    assert "I like [-tea-]{+plum cake+}." in text and "Proposed reflection:\n\nI like plum cake." in text
    assert "Likes:\n+ c\n− b" in text and "Dislikes:\nno changes" in text
    assert "“plum cake at night”" in text and "2026-11-22 to 2026-11-28" in text
    assert "/api/growth/proposals/12/approve/" in text and "a trainer decides" in text
    assert "expires on 2026-12-13 at 03:00 UTC" in text and "ungrounded" not in text


def test_only_another_order_is_no_change():
    assert "Likes:\nno changes" in body(likes=["B", "a"])


def test_a_first_reflection_an_unchanged_one_and_an_ungrounded_one_say_so():
    assert "this would be the first" in body(base_content=" ")
    assert "reflection: no changes." in body(content="I like tea.")
    assert "Marked ungrounded" in body(is_ungrounded=True)
    assert "no sentence names its source" in body(quotes=["", " "])


def test_it_says_what_it_replaces_and_what_was_asked_for():
    assert "replaces proposal 11, which can no longer be decided" in body(supersedes=11)
    assert "rewritten the reflection as asked (“Shorter.”)" in body(feedback="Shorter.")


def test_without_an_end_none_is_named():
    assert "expires" not in body(expires_at=None)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("雨が好き。", "雪が好き。", "[-雨-]{+雪+}が好き。"),
        ("one two", "one two", ""),
        ("", "new", "{+new+}"),
        ("gone now", "now", "[-gone -]now"),
    ],
)
def test_words_and_single_characters_are_compared(old, new, expected):
    assert marked_diff(old, new) == expected


def test_long_lists_are_cut_and_counted():
    lines = list_lines([], [str(n) for n in range(100)], 60)
    assert len(lines) == 61 and lines[-1] == "… and 40 more"


def test_notices_say_what_stays():
    assert "Nothing was applied" in stale("Wren", 3, "tomas")[1]
    assert "still waits" in not_rewritten("Wren", 3, "No.", True)[1]
    assert "still waits" not in not_rewritten("Wren", 3, "No.", False)[1]


@given(st.text(max_size=200), st.text(max_size=200), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_makes_a_message(old, new, items):
    title, text = message(Facts(1, old, new, items, [], old, [], items, quotes=items, feedback=old))
    assert title and new.strip() in text
