"""Tools go to the host as they are, and calls come back whatever shape the host gives them."""

from __future__ import annotations

import json

import pytest

from synth.llm import Message, Request, ToolCall, complete
from synth.llm.completion import read_body
from synth.llm.messages import sha256
from synth.models import Agent, LlmCall, LlmCallPart
from synth.testing.scripted_host import ScriptedHost

TOOL = {"type": "function", "function": {"name": "bell_ring", "description": "", "parameters": {}}}


def body(message: object) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}, [("a", "x", "{}")]),
        ({"tool_calls": [{"function": {"name": "x", "arguments": {"n": 1}}}]}, [("call_1", "x", '{"n": 1}')]),
        ({"tool_calls": [{"id": "a", "function": {"name": "x"}}]}, [("a", "x", "")]),
        ({"function_call": {"name": "x", "arguments": "{"}}, [("call_1", "x", "{")]),
        ({"tool_calls": [{"id": "a", "name": "x", "arguments": None}, 3, {}]}, [("a", "x", "")]),
        (
            {"tool_calls": [{"id": "a", "function": {"name": "x"}}, {"id": "a", "function": {"name": "y"}}]},
            [("a", "x", ""), ("a_2", "y", "")],
        ),
        (
            {"tool_calls": [{"id": i, "function": {"name": "x"}} for i in ("a_3", "a", "a")]},
            [("a_3", "x", ""), ("a", "x", ""), ("a_4", "x", "")],
        ),
        ({"tool_calls": "x", "content": "hello"}, []),
    ],
)
def test_calls_are_read_in_any_shape(message, expected):
    assert [(c.id, c.name, c.arguments) for c in read_body(body(message)).tool_calls] == expected


def test_calls_in_the_pieces_of_a_stream_are_put_together():
    deltas = [
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": '{"n'}}]},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "y", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '": 1}'}}]},
    ]
    lines = [f"data: {json.dumps({'choices': [{'delta': delta}]})}" for delta in deltas]
    calls = read_body("\n\n".join([*lines, "data: [DONE]"])).tool_calls
    assert [(c.id, c.name, c.arguments) for c in calls] == [("a", "x", '{"n": 1}'), ("b", "y", "")]


@pytest.mark.django_db
def test_what_is_sent_with_tools_is_on_record_and_replayed():
    agent = Agent.objects.create(slug="wren", name="Wren")
    calls = (ToolCall("call_1", "bell_ring", '{"n": 2}'),)
    messages = [
        Message("system", "You are Wren."),
        Message("user", "Ring."),
        Message("assistant", "", tool_calls=calls),
        Message("tool", "It rang.", tool_call_id="call_1"),
    ]
    request = Request("chat", messages, agent, "dialogue:1", journal_key="k", tools=[TOOL])
    with (
        ScriptedHost([{"content": "Again?", "tool_calls": [{"name": "bell_ring"}]}]) as host,
        host.installed(),
    ):
        reply = complete(request)
        again = complete(request)
    sent = host.requests[0].json
    assert sent["tools"] == [TOOL] and "tool_choice" not in sent and len(host.requests) == 1
    assert sent["messages"][2]["tool_calls"][0]["function"] == {"name": "bell_ring", "arguments": '{"n": 2}'}
    assert sent["messages"][3] == {"role": "tool", "content": "It rang.", "tool_call_id": "call_1"}
    assert reply.tool_calls == again.tool_calls == (ToolCall("call_1", "bell_ring", "{}"),)
    parts = LlmCallPart.objects.filter(call_id=reply.call_id).order_by("position")
    assert [(p.role, p.layer) for p in parts] == [
        ("system", ""), ("user", ""), ("assistant", ""), ("assistant", "tool_calls"), ("tool", ""),
        ("tools", "tools"),
    ]  # fmt: skip
    assert LlmCall.objects.get().tool_calls == [{"id": "call_1", "name": "bell_ring", "arguments": "{}"}]


def test_a_call_without_tools_is_named_as_before():
    request = Request("chat", [Message("user", "hi")])
    assert request.messages_sha256() == sha256(f"user {sha256('hi')}")
