"""Words come as the host writes them, whatever way it writes; a call that breaks or is stopped is kept."""

from __future__ import annotations

import json
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.llm import LlmError, Message, Request, Sink, complete, openai_host
from synth.llm.completion import StreamReader
from synth.llm.streaming import EventReader
from synth.llm.toolcalls import CallPieces
from synth.models import LlmCall
from synth.testing.scripted_host import ScriptedHost

pytestmark = pytest.mark.django_db
TEXT = "Grüße, \U0001f600 aus dem Turm:\n\n  zwei  Wörter.\u2028Ende"
ASK = Request("chat", [Message("user", "hi")])


class Heard(Sink):
    """Keeps what it hears; may stop the call after so many pieces."""

    def __init__(self, stop_after: int = 0) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.first = threading.Event()
        self._stop_after = stop_after

    def text(self, piece: str) -> None:
        if piece:
            self.pieces.append(piece)
            self.first.set()
        if self._stop_after and len(self.pieces) >= self._stop_after:
            self.stop()

    @property
    def all(self) -> str:
        return "".join(self.pieces)


def stream(*replies, request=ASK, sink=None, **values):
    sink = sink or Heard()
    with ScriptedHost(replies) as host, host.installed(**values):
        return complete(request, sink), sink, host


def broken(*replies, sink=None, **values):
    sink = sink or Heard()
    with ScriptedHost(replies) as host, host.installed(**values), pytest.raises(LlmError) as caught:
        complete(ASK, sink)
    return caught.value, sink, host


@pytest.mark.parametrize(
    "how",
    [
        {}, {"split": 1}, {"split": 3}, {"newline": "\r\n"}, {"newline": "\r\n", "split": 1},
        {"newline": "\r"}, {"blank": False}, {"comments": True}, {"done": False}, {"pieces": list(TEXT)},
    ],
)  # fmt: skip
def test_the_words_come_whole_however_the_bytes_are_cut(how):
    reply, sink, host = stream({"content": TEXT, "stream": how})
    assert reply.text == sink.all == TEXT and reply.finish_reason == "stop"
    assert host.requests[0].json["stream"] is True
    assert host.requests[0].json["stream_options"] == {"include_usage": True}
    call = LlmCall.objects.get()
    assert (call.response_text, call.n_prompt_tokens, call.n_completion_tokens) == (TEXT, 100, 20)
    assert (call.outcome, call.model) == ("ok", "scripted")


def test_words_are_heard_before_the_host_has_finished():
    heard_at: list[int] = []
    sink = Heard()

    def hear():
        if sink.first.wait(20):
            heard_at.append(len(sink.pieces))

    def reply(_request):
        threading.Thread(target=hear).start()
        return {"content": "one two three four five", "token_s": 0.1}

    stream(reply, sink=sink)
    assert sink.pieces == ["one", " two", " three", " four", " five"] and heard_at and heard_at[0] < 5


@pytest.mark.parametrize("split", [1, 1000])
def test_tool_calls_in_pieces_are_put_together(split):
    calls = [
        {"name": "bell_ring", "arguments": {"times": 2, "why": "für \U0001f600"}},
        {"name": "light_on", "arguments": "{}"},
    ]
    reply, sink, _ = stream({"content": "Well,", "tool_calls": calls, "stream": {"split": split}})
    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [
        ("call_1", "bell_ring", {"times": 2, "why": "für \U0001f600"}), ("call_2", "light_on", {}),
    ]  # fmt: skip
    assert (sink.all, reply.finish_reason) == ("Well,", "tool_calls")


def test_calls_of_hosts_that_give_every_call_the_same_index_stay_apart():
    pieces = CallPieces()
    for id, name in (("a", "one"), ("b", "two")):
        pieces.add({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": "{"}}]})
        pieces.add({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]})
    pieces.add({"function_call": {"arguments": ""}})
    assert [(c.id, c.name, c.arguments) for c in pieces.calls()] == [("a", "one", "{}"), ("b", "two", "{}")]


def test_a_host_that_answers_in_one_body_is_heard_all_the_same():
    reply, sink, _ = stream({"content": TEXT, "stream": False})
    assert reply.text == sink.all == TEXT


@pytest.mark.parametrize(
    ("refusals", "asked"),
    [
        (["Unknown field: stream_options"], [(True, True), (True, False)]),
        (["streaming is not supported"], [(True, True), (False, False)]),
        (["stream_options?", "stream must be false"], [(True, True), (True, False), (False, False)]),
    ],
)
def test_a_host_that_refuses_streams_is_asked_plainly_and_that_is_remembered(refusals, asked):
    replies = [{"status": 400, "content": text} for text in refusals]
    with ScriptedHost([*replies, "Hello.", "Again."]) as host, host.installed():
        sink = Heard()
        assert complete(ASK, sink).text == sink.all == "Hello."
        complete(ASK, Heard())
    seen = [(bool(r.json.get("stream")), "stream_options" in r.json) for r in host.requests]
    assert seen == [*asked, asked[-1]] and LlmCall.objects.count() == 2


def test_any_other_refusal_is_not_asked_again():
    error, _, host = broken({"status": 400, "content": "no such model"})
    assert error.reason == "llm_refused" and len(host.requests) == 1


@pytest.mark.parametrize(
    ("how", "reason", "kept"),
    [
        ({"cut_after": 3}, "llm_unreachable", "one two"),
        ({"reset_after": 3}, "llm_unreachable", "one two"),
        ({"error_after": 3}, "llm_overloaded", "one two"),
        ({"hang_after": 3}, "llm_timeout", "one two"),
        ({"cut_after": 0}, "llm_unreachable", ""),
        ({"hang_after": 0}, "llm_timeout", ""),
    ],
)
def test_trouble_in_the_middle_keeps_what_had_come(how, reason, kept):
    error, sink, host = broken({"content": "one two three four", "stream": how}, LLM_TIMEOUT_S=1)
    assert (error.reason, error.retryable, len(host.requests)) == (reason, True, 1)
    assert sink.all == kept
    call = LlmCall.objects.get()
    assert (call.outcome, call.response_text, call.pk) == (reason, kept, error.call_id)
    if kept:
        assert error.partial is not None and error.partial.text == kept
        assert (call.n_prompt_tokens, call.n_completion_tokens) == (1, 2)


def test_a_stream_that_ends_without_any_end_mark_counts_as_cut():
    reply, _, _ = stream({"content": "one two", "stream": {"finish": False, "done": False}})
    assert (reply.text, reply.finish_reason) == ("one two", "length")


def test_what_follows_the_finish_reason_cannot_break_the_answer():
    reply, _, _ = stream({"content": "one", "stream": {"cut_after": 3}})
    assert (reply.text, reply.finish_reason) == ("one", "stop")


def test_a_host_that_neither_ends_nor_closes_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(openai_host, "AFTER_END_S", 0.3)
    reply, _, _ = stream({"content": "one", "stream": {"hang_after": 3}}, LLM_TIMEOUT_S=100)
    assert (reply.text, reply.finish_reason) == ("one", "stop")


def test_a_filter_in_the_middle_is_an_error_and_the_words_are_on_record():
    error, sink, _ = broken({"content": "one two", "finish_reason": "content_filter"})
    assert (error.reason, sink.all, LlmCall.objects.get().response_text) == (
        "content_filter", "one two", "one two",
    )  # fmt: skip


def test_silence_is_not_the_whole_call():
    reply, _, _ = stream({"content": "a b c d", "token_s": 0.5}, LLM_TIMEOUT_S=1)
    assert reply.text == "a b c d"


@pytest.mark.parametrize("reply", [{"hang": True}, {"content": "a b", "stream": {"hang_after": 2}}])
def test_a_stop_from_another_thread_ends_a_silent_call_at_once(reply):
    sink = Heard()
    threading.Timer(0.5, sink.stop).start()
    began = time.monotonic()
    error, _, _ = broken(reply, sink=sink, LLM_TIMEOUT_S=60)
    assert error.reason == "stopped" and time.monotonic() - began < 20
    call = LlmCall.objects.get()
    assert (call.outcome, call.response_text) == ("stopped", sink.all) and call.n_prompt_tokens == 1


def test_a_stop_before_the_call_begins_makes_none():
    sink = Heard()
    sink.stop()
    error, _, host = broken("never", sink=sink)
    assert error.reason == "stopped" and not host.requests


def test_a_stop_in_the_middle_is_on_record_with_its_tokens():
    error, sink, _ = broken({"content": "one two three four", "token_s": 0.05}, sink=Heard(stop_after=2))
    assert (error.reason, sink.all) == ("stopped", "one two")
    call = LlmCall.objects.get()
    assert (call.outcome, call.response_text, call.n_completion_tokens) == ("stopped", "one two", 2)


def test_replies_from_a_file_stream_and_stop_too(tmp_path, settings):
    file = tmp_path / "replies.jsonl"
    file.write_text('"one  two\\n"\n{"content": "one two three", "token_s": 0.2}\n')
    settings.LLM_BASE_URL = f"scripted:{file}"
    sink = Heard()
    assert complete(ASK, sink).text == sink.all == "one  two\n" and len(sink.pieces) == 3
    with pytest.raises(LlmError) as caught:
        complete(ASK, Heard(stop_after=1))
    assert caught.value.reason == "stopped"
    assert caught.value.partial is not None and caught.value.partial.text == "one"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(exclude_categories=[])), st.data())
def test_any_text_cut_anywhere_is_read_the_same(text, data):
    chunks = [json.dumps({"choices": [{"delta": {"content": char}}]}) for char in text]
    body = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=8).map(sorted))
    reader = StreamReader()
    heard = [reader.feed(body[a:b]) for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    rest, whole = reader.end()
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    assert "".join(heard) + rest == whole.text == paired


def test_lines_that_make_no_event_are_let_go():
    reader = EventReader(RuntimeError)
    for _ in range(501):
        assert reader.line("data: {") == ""
    assert reader.line('data: {"choices": [{"delta":') == ""
    assert reader.line('data: {"content": "heard"}}]}') == "heard"
