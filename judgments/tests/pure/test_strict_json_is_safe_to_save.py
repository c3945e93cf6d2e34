"""What can be saved, how deep a value is, and that our reader agrees with Python's where that is right."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgments import strict_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)  # a busy machine is no failure
@given(VALUES)
def test_both_readers_and_writers_agree_with_pythons(value):
    text = json.dumps(value)
    assert strict_json.loads(text) == value
    assert strict_json._Deep(text).read() == value
    assert "".join(strict_json._written(value)) == strict_json.dumps(value)
    assert json.loads(strict_json.dump_bytes(value)) == value


def test_what_no_database_text_can_hold_is_replaced():
    assert strict_json.saveable({"a\0": ["\ud800x", "\\u0000"]}) == {"a\ufffd": ["\ufffdx", "\\u0000"]}
    clean = {"a": "🙂"}
    assert strict_json.saveable(clean) is clean


def test_depth_counts_containers():
    assert list(map(strict_json.depth, ("x", {}, [1], {"a": [[]]}))) == [0, 1, 1, 3]


def test_nan_is_never_written():
    with pytest.raises(ValueError):
        strict_json.dumps([float("nan")])
