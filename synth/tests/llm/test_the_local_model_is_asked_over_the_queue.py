"""LLM_BASE_URL=local: words come from the torch worker as it finds them, and every trouble has its end."""

from __future__ import annotations

import threading
import time

import pytest

from synth.inference import queue, telling, wire
from synth.inference.runners import Stub, said
from synth.inference.wire import Problem
from synth.llm import LlmError, Message, Request, complete, is_configured
from synth.models import LlmCall
from synth.tests.inference.serving import at_once, clear
from synth.tests.llm.local import Heard, scripted, served, until

pytestmark = pytest.mark.django_db
TEXT = "Grüße, \U0001f600 aus dem Turm"


@pytest.fixture(autouse=True)
def local(settings):
    settings.LLM_BASE_URL, settings.LLM_LOCAL_MODEL = "local", "/models/Twin.Q4.gguf"


def request(text=TEXT, **more):
    return Request(**{"purpose": "chat", "messages": [Message("user", text)], **more})


def broken(sink=None, **more) -> LlmError:
    with pytest.raises(LlmError) as caught:
        complete(request(**more), sink)
    return caught.value


def partial(error: LlmError) -> str:
    return error.partial.text if error.partial else ""


class Endless(Stub):
    """Writes until it is closed, and remembers that."""

    closed = threading.Event()

    def stream(self, payload):
        type(self).closed.clear()
        try:
            while True:
                time.sleep(0.005)
                yield "la "
        finally:
            type(self).closed.set()


def test_the_words_come_in_pieces_and_the_call_is_on_record():
    sink = Heard()
    with served(generate=Stub):
        reply = complete(request(), sink)
    assert sink.pieces == ["Grüße,", " \U0001f600", " aus", " dem", " Turm"]
    assert (reply.text, reply.finish_reason, reply.model) == (TEXT, "stop", "stub")
    call = LlmCall.objects.get()
    assert (call.backend, call.host, call.outcome, call.n_completion_tokens) == ("local", "local", "ok", 5)


def test_without_a_sink_the_reply_is_the_same():
    with served(generate=Stub):
        assert complete(request()).text == TEXT


def test_a_reply_that_reaches_its_limit_says_so(settings):
    with served(generate=Stub):
        assert complete(request(max_tokens=2)).finish_reason == "length"
        settings.LLM_MAX_TOKENS = 3
        assert complete(request(max_tokens=99)).text == "Grüße, \U0001f600 aus"


def test_a_stop_ends_the_work_too_and_keeps_what_came():
    sink = Heard(stop_after=2)
    with served(generate=Endless):
        error = broken(sink)
        assert Endless.closed.wait(20)
    assert (error.reason, partial(error)) == ("stopped", sink.all)
    assert sink.all.startswith("la la ")


def test_an_asker_that_is_gone_without_a_word_is_not_written_to_for_ever(monkeypatch):
    monkeypatch.setattr(telling, "MAX_UNREAD", 5)
    with served(generate=Endless):
        queue.begin("generate", {}, deadline=time.time() + 60, priority="CHAT")
        assert Endless.closed.wait(20)


def test_the_deadline_ends_both_sides():
    with served(generate=Endless):
        error = broken(Heard(), timeout_s=0.6)
        assert Endless.closed.wait(20)
    assert (error.reason, error.retryable) == ("llm_timeout", True)
    assert partial(error).startswith("la ")


def test_a_silence_ends_the_call(settings):
    settings.LLM_TIMEOUT_S = 1
    with scripted([wire.piece("Hel"), wire.piece("lo")]) as taken:
        error = broken(Heard())
        assert queue.client().exists(wire.cancel_key(taken[0]["id"]))
    assert (error.reason, partial(error)) == ("llm_timeout", "Hello")


def test_a_worker_that_dies_in_the_middle_ends_the_call():
    with scripted([wire.piece("Hel")], signs_s=0.4):
        error = broken(Heard())
    assert (error.reason, partial(error)) == ("llm_unreachable", "Hel")
    assert "torch worker" in error.detail and LlmCall.objects.get().response_text == "Hel"


def test_a_worker_that_is_told_to_stop_ends_the_call_as_well():
    with served(generate=Endless) as serving:
        sink = Heard()
        threading.Timer(0.3, serving.stop.set).start()
        error = broken(sink)
    assert (error.reason, error.retryable) == ("llm_unreachable", True)


def test_without_a_worker_the_call_ends_at_once_and_says_why():
    clear()
    error = broken()
    assert (error.reason, error.detail) == ("llm_unreachable", "No torch worker runs.")


def test_a_full_queue_is_busy():
    clear()
    queue.client().set(wire.ALIVE_KEY, "someone", ex=30)
    queue.client().rpush(wire.queue_key("CHAT"), *["x"] * wire.BOUND)
    error = broken()
    clear()
    assert (error.reason, error.retry_after_s) == ("llm_overloaded", 1)


@pytest.mark.parametrize("raw", ["nonsense", "7", "[]", '{"else": 1}', '{"problem": 3}', '{"problem": {}}'])
def test_replies_nobody_can_read_end_the_call(raw):
    with scripted([wire.piece("Hel"), raw]):
        assert broken(Heard()).reason == "llm_overloaded"


def test_a_model_that_fails_ends_its_own_call_only():
    class Poisoned(Stub):
        def stream(self, payload):
            return super().stream(payload | {"poison": "bad" in payload["messages"][-1]["content"]})

    with served(generate=Poisoned):
        assert broken(text="one two bad four").reason == "llm_overloaded"
        assert complete(request()).text == TEXT


def test_a_prompt_that_is_too_long_is_refused_with_numbers():
    class Short(Stub):
        def stream(self, payload):
            yield from ()
            return Problem("max_tokens_exceeded", "At most 8 tokens; the prompt has 9.", 8, 9)

    with served(generate=Short):
        error = broken()
    assert (error.reason, error.detail) == ("llm_refused", "At most 8 tokens; the prompt has 9.")


def test_a_model_that_does_not_fit_is_unreachable_and_says_the_numbers():
    class Giant(Stub):
        needs_mib = 1_000_000_000

    with served(generate=Giant):
        error = broken()
    assert error.reason == "llm_unreachable" and "1000000000 MiB" in error.detail


def test_the_same_request_twice_at_once_is_written_twice():
    with served(generate=Stub):
        ids = [_begun() for _ in range(2)]
        heard: list[list[str]] = [[], []]
        waits = [lambda n=n: queue.wait(ids[n], time.time() + 20, say=heard[n].append) for n in range(2)]
        at_once(waits)
    assert ["".join(pieces) for pieces in heard] == [TEXT, TEXT]


def _begun() -> str:
    from synth.llm import local_host

    return queue.begin("generate", local_host._payload(request()), deadline=time.time() + 20)


def test_tool_calls_are_read_and_their_marks_are_not_said():
    tools = [{"type": "function", "function": {"name": "bell_ring", "parameters": {}}}]
    text = 'Well <tool_call>{"name": "bell_ring", "arguments": {"times": 2}}</tool_call>'
    sink = Heard()
    with served(generate=Stub):
        reply = complete(request(text, tools=tools), sink)
        plain = complete(request(text))
    assert (reply.text.strip(), sink.all.strip(), reply.finish_reason) == ("Well", "Well", "tool_calls")
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("bell_ring", '{"times": 2}')]
    assert (plain.text, plain.tool_calls) == (text, ())


def test_what_a_person_waits_for_goes_before_background_work():
    found = {}
    for purpose in ("chat", "proactive", "judge", "reflection"):
        clear()
        queue.client().set(wire.ALIVE_KEY, "someone", ex=30)
        broken(purpose=purpose, timeout_s=0.05)
        found[purpose] = [name for name in wire.PRIORITIES if queue.client().llen(wire.queue_key(name))]
    clear()
    assert found == {"chat": ["CHAT"], "proactive": ["CHAT"], "judge": ["CHAT"], "reflection": ["NICE"]}


def test_a_model_without_a_path_is_none(settings):
    settings.LLM_LOCAL_MODEL = ""
    assert not is_configured()
    error = broken()
    assert error.reason == "no_language_model" and "LLM_LOCAL_MODEL" in error.detail


def test_an_agent_that_stays_on_this_network_may_use_it():
    from synth.models import Agent

    agent = Agent.objects.create(slug="wren", name="Wren", local_only=True)
    with served(generate=Stub):
        assert complete(request(agent=agent)).text == TEXT


def test_the_wire_of_an_ask_has_what_the_model_needs():
    done = wire.reply(said("m", "stop", n_prompt=1, n_completion=0))
    with scripted([done]) as taken:
        complete(request(temperature=0.5, max_tokens=7, json_schema={"type": "object"}))
        until(lambda: taken)
    payload = taken[0]["payload"]
    assert payload.pop("ask")
    assert payload == {
        "messages": [{"role": "user", "content": TEXT}], "tools": [], "max_tokens": 7, "temperature": 0.5,
        "schema": {"type": "object"},
    }  # fmt: skip
