"""Likes and dislikes are read from whatever a model sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.lists import key, list_diff, merge, read_list, resolve


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["art", "Art", " ", None], ["art"]),
        (["  art ", "ａｒｔ", "ART"], ["art"]),
        (["Straße", "STRASSE"], ["Straße"]),
        ("art, music", ["art", "music"]),
        ("- art\n- music", ["art", "music"]),
        ("読書、散歩", ["読書", "散歩"]),
        ("cat", ["cat"]),
        (["art, music"], ["art, music"]),
        (["a\x00b", "c\ud800"], ["a b", "c"]),
        (["new\nline"], ["new line"]),
        ([1, "two", {"x": 1}, ["y"], True], ["two"]),
        ({"art": 1}, ["old"]),
        (None, ["old"]),
        (7, ["old"]),
        (True, ["old"]),
        (0.5, ["old"]),
        ("", ["old"]),
        (" , ,", ["old"]),
        ([{"item": "x"}], ["old"]),
        ([], ["old"]),
        ([None, " "], ["old"]),
    ],
)
def test_a_value_becomes_a_list_or_keeps_the_old_one(value, expected):
    assert list(read_list(value, ["old"]).items) == expected


def test_an_empty_list_clears_when_it_may():
    reading = read_list([], ["old"], may_clear=True)
    assert (reading.items, reading.is_changed) == ((), True)


def test_an_empty_list_that_may_not_clear_warns():
    assert "approval" in read_list([], ["old"]).notes[0]


def test_an_empty_list_where_there_is_none_is_no_change_and_no_warning():
    reading = read_list([], [])
    assert (reading.items, reading.is_changed, reading.notes) == ((), False, ())


def test_objects_inside_a_list_are_dropped_with_a_note():
    assert read_list(["a", {"b": 1}], []).notes == ("an item was dropped: object",)


def test_a_long_item_is_cut_and_a_long_list_ends():
    reading = read_list(["x" * 500, *map(str, range(100))], [])
    assert (len(reading.items[0]), len(reading.items), len(reading.notes)) == (200, 50, 2)


def test_a_like_wins_over_a_dislike():
    assert resolve(["Tea", "rain"], ["tea", "noise"]) == (["Tea", "rain"], ["noise"])


def test_a_diff_lists_gains_and_losses():
    assert list_diff(["a", "b"], ["b", "c"]).lines() == ["+ c", "\u2212 a"]


def test_another_order_is_no_change():
    assert list_diff(["a", "b"], ["B", "a"]).lines() == ["no changes"]


def test_merging_keeps_the_old_and_adds_the_new_once():
    assert merge(["tea"], ["Tea", "ferries"]) == ["tea", "ferries"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=json_values, current=st.lists(st.text(min_size=1), max_size=4))
def test_any_json_gives_clean_items_and_reading_twice_changes_nothing(value, current):
    first = read_list(value, current)
    if first.items != tuple(current):
        assert read_list(list(first.items), []).items == first.items
        assert all(item == item.strip() and item for item in first.items)
        assert len({key(item) for item in first.items}) == len(first.items)


@given(st.lists(st.text()), st.lists(st.text()))
def test_no_item_stays_in_both_lists(likes, dislikes):
    liked, disliked = resolve(likes, dislikes)
    assert not {key(x) for x in liked} & {key(x) for x in disliked}
