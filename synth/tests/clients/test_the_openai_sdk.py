"""The official OpenAI SDK talks to agents: whole, streamed, with tools of its own."""

from __future__ import annotations

import json
import time

import openai
import pytest
from openai import OpenAI

pytestmark = pytest.mark.slow
MODEL = "synth/wren"
NOW = {
    "type": "function",
    "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def sdk(world):
    return OpenAI(base_url=f"{world.url}/v1", api_key=world.key("pia"), max_retries=0, timeout=30)


def say(sdk, *messages, **more):
    named = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return sdk.chat.completions.create(model=MODEL, messages=named, **more)


def dialogues(world):
    return world.http().get("/api/dialogues/").json()["results"]


def test_agents_are_models(sdk):
    ids = [model.id for model in sdk.models.list()]
    assert MODEL in ids
    assert sdk.models.retrieve(MODEL).id == MODEL


def test_a_whole_answer(world, sdk):
    world.scripts["tide"] = {
        "content": "The tide is **low**.",
        "usage": {"prompt_tokens": 9, "completion_tokens": 4},
    }
    reply = say(sdk, {"role": "system", "content": "Answer like a PIRATE-NOTE."}, "How is the tide?")
    assert reply.choices[0].message.content == "The tide is **low**."
    assert (reply.choices[0].finish_reason, reply.model) == ("stop", MODEL)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (9, 4, 13)
    (sent,) = world.prompts("How is the tide?")
    system = sent[0]["content"]
    assert [m["content"] for m in sent].count("How is the tide?") == 1
    assert system.index("Wren") < system.index("PIRATE-NOTE"), "a client's note stands below the agent's self"


def test_a_streamed_answer(world, sdk):
    world.scripts["stream it"] = {"content": "One two three."}
    chunks = list(say(sdk, "stream it", stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[0].choices[0].delta.content == ""
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "One two three."
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == [
        "stop"
    ]
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0


def test_a_talk_stays_one_dialogue_and_regenerating_makes_siblings(world, sdk):
    world.scripts["first-mark"] = "First answer."
    world.scripts["second-mark"] = lambda request: "Second answer."
    first = {"role": "user", "content": "first-mark"}
    before = len(dialogues(world))
    one = say(sdk, first).choices[0].message.content
    history = [
        first,
        {"role": "assistant", "content": f"{one}\n"},
        {"role": "user", "content": "second-mark"},
    ]
    for _ in range(2):
        assert say(sdk, *history).choices[0].message.content == "Second answer."
    listed = dialogues(world)
    assert len(listed) == before + 1
    rows = world.http().get(f"/api/dialogues/{listed[0]['id']}/messages/").json()["results"]
    assert [r["role"] for r in rows] == ["user", "assistant", "user", "assistant", "assistant"]
    assert rows[3]["parent"] == rows[4]["parent"] == rows[2]["id"]
    say(sdk, first)
    assert len(dialogues(world)) == before + 2, "the same first words begin another talk"


def test_a_history_from_elsewhere_begins_a_dialogue_with_it(world, sdk):
    world.scripts["go on"] = "I go on."
    history = [
        {"role": "user", "content": "Old words of mine."},
        {"role": "assistant", "content": "Old words of yours."},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip
    say(sdk, *history)
    rows = world.http().get(f"/api/dialogues/{dialogues(world)[0]['id']}/messages/").json()["results"]
    assert [(r["role"], r["content"]) for r in rows] == [
        ("user", "Old words of mine."), ("assistant", "Old words of yours."), ("user", "go on"),
        ("assistant", "I go on."),
    ]  # fmt: skip
    (sent,) = world.prompts("go on")
    assert sum("Old words of mine." in str(m["content"]) for m in sent) == 1


def test_tools_of_the_client(world, sdk):
    world.scripts["what time"] = {"tool_calls": [{"name": "get_time", "arguments": {}}]}
    world.scripts["noon exactly"] = "It is noon."
    asked = {"role": "user", "content": "what time is it"}
    for stream in (False, True):
        reply = say(sdk, asked, tools=[NOW], stream=stream)
        if stream:
            chunks = [c for c in reply if c.choices]
            calls = [call for c in chunks for call in c.choices[0].delta.tool_calls or []]
            assert chunks[-1].choices[0].finish_reason == "tool_calls"
            name, call_id, arguments = calls[0].function.name, calls[0].id, calls[0].function.arguments
        else:
            assert reply.choices[0].finish_reason == "tool_calls"
            (call,) = reply.choices[0].message.tool_calls
            name, call_id, arguments = call.function.name, call.id, call.function.arguments
        assert (name, json.loads(arguments)) == ("get_time", {})
        function = {"name": name, "arguments": arguments}
        made = {"id": call_id, "type": "function", "function": function}
        called = {"role": "assistant", "content": None, "tool_calls": [made]}
        result = {"role": "tool", "tool_call_id": call_id, "content": "noon exactly"}
        before = len(dialogues(world))
        assert say(sdk, asked, called, result, tools=[NOW]).choices[0].message.content == "It is noon."
        assert len(dialogues(world)) == before


def test_chores_of_frontends_leave_no_trace_and_ask_no_model(world, sdk):
    before, asked = len(dialogues(world)), len(world.host.requests)
    chore = (
        "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
        '### Output:\nJSON format: { "title": "your concise title here" }\n'
        "<chat_history>\nUSER: Apple trees\nASSISTANT: Yes.\n</chat_history>"
    )
    assert json.loads(say(sdk, chore).choices[0].message.content) == {"title": "Apple trees"}
    streamed = "".join(c.choices[0].delta.content or "" for c in say(sdk, chore, stream=True) if c.choices)
    assert json.loads(streamed) == {"title": "Apple trees"}
    assert (len(dialogues(world)), len(world.host.requests)) == (before, asked)


@pytest.mark.parametrize(
    ("more", "error", "param"),
    [
        ({"model": "synth/nobody"}, openai.NotFoundError, "model"),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"n": 3}, openai.BadRequestError, "n"),
        ({"messages": [{"role": "user", "content": "x" * 2_500_000}]}, openai.APIStatusError, None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_bad_input_is_a_4xx_before_any_stream(sdk, more, error, param, stream):
    ask = {"model": MODEL, "messages": [{"role": "user", "content": "x"}], "stream": stream, **more}
    with pytest.raises(error) as caught:
        sdk.chat.completions.create(**ask)
    assert 400 <= caught.value.status_code < 500
    assert caught.value.param == param


def test_a_wrong_key_is_a_401(world):
    with pytest.raises(openai.AuthenticationError):
        say(OpenAI(base_url=f"{world.url}/v1", api_key="wrong", max_retries=0), "x")


def test_trouble_of_the_host_is_told(world, sdk):
    world.scripts["trouble-mark"] = {"status": 500}
    with pytest.raises(openai.InternalServerError) as caught:
        say(sdk, "trouble-mark")
    assert caught.value.status_code == 503 and caught.value.code == "llm_overloaded"
    with pytest.raises(openai.APIError):
        list(say(sdk, "trouble-mark", stream=True))


@pytest.mark.parametrize("base", ["/v1/v1", "/v1"])
def test_addresses_are_taken_as_clients_write_them(world, base):
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}]}
    for slash in ("", "/"):
        answer = world.http().post(
            f"{base}/chat/completions{slash}", json=body, headers={"Accept": "text/event-stream"}
        )
        assert answer.status_code == 200, answer.text
    assert world.http().get(f"{base}/models").status_code == 200


def test_a_client_that_hangs_up_ends_its_answer_within_a_second(world, sdk):
    world.scripts["slow-mark"] = {"content": "word " * 400, "token_s": 0.05}
    stream = say(sdk, "slow-mark", stream=True)
    for _ in range(3):
        next(iter(stream))
    stream.close()
    left = time.monotonic()
    with world.http() as http:
        newest = dialogues(world)[0]["id"]
        while time.monotonic() < left + 10:
            rows = http.get(f"/api/dialogues/{newest}/messages/").json()["results"]
            if rows[-1]["status"] != "streaming":
                break
            time.sleep(0.05)
    assert rows[-1]["status"] == "cancelled" and rows[-1]["content"].startswith("word")
    assert rows[-1]["metadata"]["reason"] == "client_gone"


def test_the_self_stands_once_in_the_prompt_and_in_no_turn(world, sdk):
    trainer = world.http("trainer", "trainer")
    growth = {"current": {"content": "I have learned to love fog."}}
    assert trainer.patch("/api/agents/wren/growth/", json=growth).status_code == 200
    world.scripts["who are you"] = "Myself."
    say(sdk, "who are you")
    (sent,) = world.prompts("who are you")
    whole = json.dumps(sent)
    assert whole.count("I have learned to love fog.") == 1
    rows = world.http().get(f"/api/dialogues/{dialogues(world)[0]['id']}/messages/").json()["results"]
    assert "love fog" not in json.dumps(rows)
