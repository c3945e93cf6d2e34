"""Any turn becomes a stream as OpenAI's clients expect it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.openai.chunks import DONE, Teller, completion, without_notices

END = {
    "message": {"content": "Hello"},
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}


def told(events, **more):
    teller = Teller(7, "synth/wren", 1, **more)
    frames = [frame for name, data in events for frame in teller.tell(name, data)]
    assert all(frame.startswith(b"data: ") and frame.endswith(b"\n\n") for frame in frames)
    assert all(frame.count(b"\n") == 2 for frame in frames)
    return frames


def bodies(frames):
    return [json.loads(frame[6:]) for frame in frames if frame != DONE]


TEXTS = st.lists(st.text(min_size=1, max_size=5), max_size=6)


@given(TEXTS, st.booleans(), st.sampled_from(["stop", "length", "cancelled", "tool_calls"]))
def test_the_rules_of_a_stream(texts, wants_usage, reason):
    end = {**END, "message": {"content": "".join(texts)}, "finish_reason": reason}
    events = [("message.start", {}), *(("delta", {"text": t}) for t in texts), ("message.end", end)]
    frames = told(events, wants_usage=wants_usage)
    assert frames[-1] == DONE and frames.count(DONE) == 1
    chunks = bodies(frames)
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    usage = [chunk for chunk in chunks if chunk["choices"] == []]
    assert len(usage) == wants_usage and (not wants_usage or chunks[-1] is usage[0])
    deltas = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert [d["finish_reason"] for d in deltas if d["finish_reason"]] == [
        "stop" if reason == "cancelled" else reason
    ]
    assert all("role" not in d["delta"] for d in deltas[1:])
    assert "".join(d["delta"].get("content", "") for d in deltas) == "".join(texts)
    assert len({chunk["id"] for chunk in chunks}) == 1


def test_words_of_later_rounds_follow_after_a_blank_line():
    events = [
        ("message.start", {}), ("delta", {"text": "Let me see."}), ("action", {"action": "now"}),
        ("delta", {"text": "It is "}), ("delta", {"text": "noon."}), ("message.end", END),
    ]  # fmt: skip
    content = "".join(c["choices"][0]["delta"].get("content", "") for c in bodies(told(events)))
    assert content == "Let me see.\n\nIt is noon."


def test_an_answer_that_was_not_streamed_is_told_at_its_end():
    chunks = bodies(told([("message.start", {}), ("message.end", END)]))
    assert [c["choices"][0]["delta"].get("content") for c in chunks] == ["", "Hello", None]


def test_what_was_missed_is_told_once():
    events = [("delta", {"text": "Hel"}), ("resync", {"content": "Hello"}), ("message.end", END)]
    content = "".join(c["choices"][0]["delta"].get("content", "") for c in bodies(told(events)))
    assert content == "Hello"


@pytest.mark.parametrize(
    "later",
    [
        [("delta", {"text": "It "}), ("resync", {"content": "It is noon."})],
        [("resync", {"content": "It is"}), ("delta", {"text": " noon."})],
        [("delta", {"text": "It is "})],
        [],
    ],
)
def test_what_was_missed_of_a_later_round_is_told_once(later):
    end = ("message.end", {**END, "message": {"content": "It is noon."}})
    events = [("message.start", {}), ("delta", {"text": "Let me see."}), ("action", {}), *later, end]
    content = "".join(c["choices"][0]["delta"].get("content", "") for c in bodies(told(events)))
    assert content == "Let me see.\n\nIt is noon."


def test_a_later_round_is_told_although_the_action_between_was_missed():
    end = ("message.end", {**END, "message": {"content": "It is noon."}})
    events = [("delta", {"text": "Let me see."}), ("resync", {"content": "It is"}), end]
    content = "".join(c["choices"][0]["delta"].get("content", "") for c in bodies(told(events)))
    assert content == "Let me see.\n\nIt is noon."


def test_a_last_word_before_refused_actions_is_told_once():
    end = ("message.end", {**END, "message": {"content": "I will."}})
    events = [("delta", {"text": "I will."}), ("action", {"status": "refused"}), end]
    content = "".join(c["choices"][0]["delta"].get("content", "") for c in bodies(told(events)))
    assert content == "I will."


def test_trouble_is_an_error_and_an_end():
    frames = told(
        [("message.start", {}), ("error", {"message": "The host is away.", "code": "llm_unreachable"})]
    )
    assert frames[-1] == DONE
    assert bodies(frames)[-1]["error"]["code"] == "llm_unreachable"


def test_calls_of_the_clients_own_tools():
    call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    ours = {"id": "c", "name": "now", "arguments": "{}"}
    end = {**END, "message": {"content": ""}, "tool_calls": [ours], "finish_reason": "tool_calls"}
    chunks = bodies(told([("message.end", end)]))
    assert chunks[1]["choices"][0]["delta"] == {"tool_calls": [{"index": 0, **call}]}
    whole = completion(7, "synth/wren", 1, end, "")
    assert whole["choices"][0]["message"] == {
        "role": "assistant", "content": None, "refusal": None, "tool_calls": [call],
    }  # fmt: skip
    assert whole["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def test_who_is_asked_is_told_so_in_words_that_are_not_the_agents():
    events = [
        ("delta", {"text": "I will."}), ("approval", {"approval": {"status": "pending", "action": "forget"}}),
        ("approval", {"approval": {"status": "allowed", "action": "forget"}}), ("action", {}),
        ("delta", {"text": "Done."}), ("message.end", END),
    ]  # fmt: skip
    content = "".join(c["choices"][0]["delta"].get("content", "") for c in bodies(told(events)))
    assert content == "I will.\n\n[Waiting for your approval: forget]\n\nDone."
    assert without_notices(content) == "I will.\n\nDone."


def test_a_text_of_blanks_is_looked_at_once():
    assert without_notices("a" + " \n" * 500_000 + "b").startswith("a \n")
