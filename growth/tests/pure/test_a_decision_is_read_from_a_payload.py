"""What a payload of `apply_growth_proposal` decides, and what it never does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.decision import Kind, read_payload

YES = [True, 1, "true", " TRUE ", "1", "yes", "Yes", "on", "ON\n"]
NO = [False, 0, "false", "0", "No", "off", " OFF "]
UNCLEAR = [
    None,
    "",
    "  ",
    "maybe",
    "nein",
    "ja",
    "approve",
    "approved",
    "ok",
    2,
    -1,
    1.0,
    0.0,
    [],
    [True],
    {},
    {"a": 1},
]


@pytest.mark.parametrize("word", YES)
def test_a_clear_yes_approves(word):
    assert read_payload({"approve": word}).kind == Kind.APPROVE


@pytest.mark.parametrize("word", NO)
def test_a_clear_no_rejects(word):
    assert read_payload({"approve": word}).kind == Kind.REJECT


@pytest.mark.parametrize("word", UNCLEAR)
def test_anything_else_asks(word):
    assert read_payload({"approve": word}).kind == Kind.ASK


@pytest.mark.parametrize(
    "payload", [None, "approve", [], [{}], 1, True, {"approved": True}, {"approve": True, "x": 1}]
)
def test_a_wrong_shape_is_refused(payload):
    assert read_payload(payload).kind == Kind.REFUSED


def test_an_empty_object_is_a_bare_payload():
    assert read_payload({}).kind == Kind.BARE


@pytest.mark.parametrize(
    "payload, feedback",
    [
        ({"revise": True, "feedback": " warmer "}, "warmer"),
        ({"revise": "make it more concrete"}, "make it more concrete"),
        ({"approve": False, "revise": "yes", "feedback": "shorter"}, "shorter"),
    ],
)
def test_a_revision_carries_its_feedback(payload, feedback):
    decision = read_payload(payload)
    assert (decision.kind, decision.feedback) == (Kind.REVISE, feedback)


@pytest.mark.parametrize(
    "payload",
    [
        {"revise": True},
        {"revise": None, "feedback": "x"},
        {"revise": []},
        {"approve": True, "revise": True, "feedback": "x"},
        {"feedback": "looks good"},
        {"feedback": 3},
    ],
)
def test_an_unclear_revision_asks(payload):
    assert read_payload(payload).kind == Kind.ASK


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["approve", "revise", "feedback", "x"]), inner)
        ),
    )
)
def test_no_payload_raises_and_only_a_clear_yes_approves(payload):
    decision = read_payload(payload)
    if decision.kind == Kind.APPROVE:
        assert str(payload["approve"]).strip().lower() in {"true", "1", "yes", "on"}
