"""Chat completion requests of real clients are read; what could never work is refused by its parameter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.openai import body

HI = [{"role": "user", "content": "hi"}]


def ask(**more):
    return body.read({"model": "synth/wren", "messages": HI, **more})


@pytest.mark.parametrize("name", ["synth/wren", "wren", " Synth/wren "])
def test_an_agent_is_named_with_or_without_the_prefix(name):
    assert ask(model=name).slug == "wren"


def test_parameters_nobody_knows_are_ignored():
    asked = ask(logit_bias={"1": 2}, chat_id="x", top_k=4, presence_penalty=0, stop=["a"], seed=None)
    assert [m.text for m in asked.messages] == ["hi"]


def test_instructions_are_gathered_wherever_they_stand():
    asked = ask(
        messages=[
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": "c"},
            {"role": "user", "content": "d"},
            {"role": "developer", "content": "Be short."},
        ]
    )
    assert asked.system == "Be kind.\n\nBe short."
    assert [(m.role, m.text) for m in asked.messages] == [("user", "a\nb"), ("assistant", "c"), ("user", "d")]


def test_tools_and_their_results_are_read():
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    asked = ask(
        messages=[*HI, {"role": "assistant", "content": None, "tool_calls": [call]},
                  {"role": "tool", "tool_call_id": "c1", "content": "noon"}],
        tools=[{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}],
        tool_choice={"type": "function", "function": {"name": "now"}},
    )  # fmt: skip
    assert asked.messages[1].calls[0].name == "now"
    named = {"type": "function", "function": {"name": "now"}}
    assert (asked.messages[2].call_id, asked.tool_choice) == ("c1", named)
    found = body.split(asked.messages)
    assert (len(found.before), found.answer, [m.text for m in found.new]) == (1, asked.messages[1], ["noon"])
    assert ask(tools=asked.raw["tools"], tool_choice="none").tools == ()


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [3]}, "messages[0]"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": " "}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": ["text"]}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": {}}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [*HI, {"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages"),
        ({"n": 2}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_completion_tokens": -5}, "max_completion_tokens"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0].function.name"),
        ({"tools": [{"function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"tools": [{"function": {"name": "a", "parameters": 1}}]}, "tools[0].function.parameters"),
        ({"tools": [{"function": {"name": "a"}}], "tool_choice": 5}, "tool_choice"),
        ({"tool_choice": 5}, "tool_choice"),
        (
            {
                "tools": [{"function": {"name": "a"}}],
                "tool_choice": {"type": "function", "function": {"name": "b"}},
            },
            "tool_choice",
        ),
        ({"tools": [{"function": {"name": "a"}}], "tool_choice": {"type": "function"}}, "tool_choice"),
        ({"n": True}, "n"),
        ({"max_tokens": False}, "max_tokens"),
    ],
)
def test_what_could_never_work_names_its_parameter(more, param):
    with pytest.raises(body.BadRequest) as caught:
        ask(**more)
    assert caught.value.param == param


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "model",
    "messages",
    "stream",
    "stream_options",
    "n",
    "tools",
    "tool_choice",
    "temperature",
    "max_tokens",
)


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.lists(st.dictionaries(
    st.sampled_from(("role", "content", "tool_calls", "tool_call_id", "name")),
    JSON | st.sampled_from(["user", "assistant", "tool"]), max_size=4), max_size=3))  # fmt: skip
def test_whatever_comes_is_read_or_refused(data, messages):
    for value in ({**data, "messages": messages}, data, messages):
        try:
            body.read(value)
        except body.BadRequest as error:
            assert str(error)


def test_a_history_has_one_name_whatever_a_client_does_to_its_edges():
    one = body.read({"model": "a", "messages": [{"role": "user", "content": "hi \n"}]}).messages
    two = body.read({"model": "a", "messages": [{"role": "user", "content": [
        {"type": "text", "text": " hi"}]}]}).messages  # fmt: skip
    assert body.prefix_sha256(one) == body.prefix_sha256(two)
    assert body.prefix_sha256(one) != body.prefix_sha256([*one, *two])
    other = body.read({"model": "a", "messages": [{"role": "user", "content": "ho"}]}).messages
    assert body.prefix_sha256(one) != body.prefix_sha256(other)
