"""Valid JSON comes through byte for byte, nothing raises, and a long reply costs linear time."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.llm.tolerant import PROBLEMS, parse

PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ",",
        ":",
        "“",
        "”",
        "‘",
        "’",
        "«",
        "»",
        "\\",
        "\\u",
        "\\ud800",
        "\n",
        " ",
        "\x00",
        "```",
        "```bash\n",
        "~~~",
        "<think>",
        "</think>",
        "[THINK]",
        "//",
        "/*",
        "*/",
        "#",
        "1",
        "-",
        "1e9",
        "NaN",
        "null",
        "True",
        "a",
        '"a":',
        '{"a": 1}',
        "\ufeff",
        "\ud800",
        "é",
        "日",
    ]
)
SAFE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | SAFE_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SAFE_TEXT, inner, max_size=4),
    max_leaves=15,
)
N = 1_000_000


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from([(), ("a",), ("a", "b")]))
def test_no_text_raises_and_every_answer_is_a_value_or_a_named_problem(text, expected):
    parsed = parse(text, expected=expected)
    assert (parsed.value is None) == bool(parsed.problem)
    assert parsed.value is not None or parsed.problem in PROBLEMS
    if parsed.value is not None:
        assert set(expected) <= set(parsed.value)
        assert not {"\x00", "\ud800"} & set(json.dumps(parsed.value, ensure_ascii=False))


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(SAFE_TEXT, VALUES, max_size=5), SAFE_TEXT, st.booleans(), st.sampled_from([None, 2]))
def test_valid_json_is_never_repaired(value, text, ascii_only, indent):
    value = {**value, "self_growth": text}
    source = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(source, expected=["self_growth"]).value == value
    assert parse(f"Here:\n```json\n{source}\n```\nDone", expected=["self_growth"]).value == value


@settings(max_examples=200, deadline=None)
@given(SAFE_TEXT, st.integers(1, 400))
def test_a_prefix_of_a_reply_is_never_completed(text, n):
    source = json.dumps({"self_growth": text})
    assert parse(source[: min(n, len(source) - 1)], expected=["self_growth"]).value is None


@pytest.mark.parametrize(
    "text",
    [
        "{" * N,
        '"' * N,
        "{" + '"' * N,
        '{"a":' * (N // 5),
        '{"a{' * (N // 4),
        "{“" * (N // 2),
        '{"a"x}' * (N // 6),
        "```bash\n" * (N // 8),
        "<think>" * (N // 7),
        '{"a":1}</think>' * (N // 15),
        "{ " * (N // 2),
        "\\" * N,
        "{'" * (N // 2),
        '{"a": [' + "1," * (N // 2) + "]}",
        "{“a”: “" + "”," * (N // 2),
        "\t" * N + "`",
        "/*{" * (N // 3),
        '{"a": ' + "9" * N + "}",
        '{"a": 1.' + "1" * N + "}",
        '{"x": "' + "y" * N + '"}',
    ],
    ids=lambda text: text[:12],
)
def test_a_megabyte_of_nonsense_takes_linear_time(text):
    started = time.monotonic()
    assert parse(text, expected=["self_growth"]).value is None
    assert time.monotonic() - started < 10  # quadratic scanning takes minutes


def test_notes_say_what_was_looked_past():
    parsed = parse('Sure: [{"a": 1, "a": 2,}] bye', expected=["a"])
    assert parsed.value == {"a": 2}
    assert set(parsed.notes) == {
        "a key stood twice; the last one counts",
        "trailing comma removed",
        "the first object of a list was used",
        "text before the object ignored",
        "text after the object ignored",
    }


def test_without_expected_keys_the_first_object_is_taken():
    assert parse('{} {"a": 1}').value == {}
    assert parse("nothing").problem == "no_object"
