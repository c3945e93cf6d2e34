"""Every call leaves one row, whatever came of it; a journal key finds a reply already paid for."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from synth.llm import LlmError, Message, Request, complete
from synth.models import Agent, LlmCall, PromptPart
from synth.testing.scripted_host import ScriptedHost

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent():
    return Agent.objects.create(slug="wren", name="Wren")


def request(agent=None, **more):
    messages = [Message("system", "one\n\ntwo", (("a", "one"), ("b", "two"))), Message("user", "hello")]
    return Request("chat", messages, agent=agent, session="dialogue:1", **more)


def test_a_reply_and_its_parts_are_on_record(agent):
    with ScriptedHost([{"content": "hi", "model": "m-1"}]) as host, host.installed():
        reply = complete(request(agent, fingerprint="f" * 64))
    call = LlmCall.objects.get()
    assert (reply.text, reply.call_id, reply.fingerprint) == ("hi", call.id, "f" * 64)
    assert (call.outcome, call.model, call.response_text, call.session) == ("ok", "m-1", "hi", "dialogue:1")
    assert (call.n_prompt_tokens, call.n_completion_tokens, call.finish_reason) == (100, 20, "stop")
    rows = call.call_parts.order_by("position").values_list("role", "layer", "part__text")
    assert list(rows) == [("system", "a", "one"), ("system", "b", "two"), ("user", "", "hello")]


def test_tokens_are_estimated_where_the_host_counts_none():
    with ScriptedHost([{"content": "x" * 40, "usage": None}]) as host, host.installed():
        reply = complete(request())
    assert (reply.n_prompt_tokens, reply.n_completion_tokens) == (2 + 2, 10)


def test_the_same_part_is_stored_once():
    with ScriptedHost(["a"], repeat_last=True) as host, host.installed():
        complete(request())
        complete(request())
    assert (LlmCall.objects.count(), PromptPart.objects.count()) == (2, 3)


def test_a_failure_is_on_record_too():
    with ScriptedHost([{"status": 429, "headers": {"Retry-After": "9"}}]) as host, host.installed():
        with pytest.raises(LlmError) as caught:
            complete(request())
    call = LlmCall.objects.get()
    assert (call.outcome, call.id) == ("llm_overloaded", caught.value.call_id)
    assert (caught.value.retryable, caught.value.retry_after_s) == (True, 9.0)


def test_the_journal_answers_instead_of_a_second_call():
    with ScriptedHost(["first", "second"]) as host, host.installed():
        first = complete(request(journal_key="cycle:1:1"))
        again = complete(request(journal_key="cycle:1:1"))
        other = complete(request(journal_key="cycle:1:2"))
    assert (again.text, again.call_id, again.is_replayed) == ("first", first.call_id, True)
    assert (other.text, other.is_replayed) == ("second", False)
    assert LlmCall.objects.count() == 2


def test_the_journal_never_answers_other_messages_or_a_failure():
    with ScriptedHost([{"status": 500}, "a", "b"]) as host, host.installed():
        with pytest.raises(LlmError):
            complete(request(journal_key="k"))
        assert complete(request(journal_key="k")).text == "a"
        changed = Request("chat", [Message("user", "changed")], journal_key="k")
        assert complete(changed).text == "b"


def test_text_that_no_database_takes_is_cleaned():
    with ScriptedHost([{"content": "a\x00b"}]) as host, host.installed():
        reply = complete(Request("chat", [Message("user", "x\x00\ud800y")]))
    assert reply.text == "a\ufffdb"
    assert host.requests[0].text == "x\ufffd\ufffdy"


def test_one_log_line_a_call_and_never_the_key(agent):
    key = "very-secret-value-123"
    body = {"status": 401, "body": {"error": {"message": f"bad key {key}"}}}
    with ScriptedHost([body]) as host, host.installed(LLM_API_KEY=key), capture_logs() as lines:
        with pytest.raises(LlmError) as caught:
            complete(request(agent))
    call = LlmCall.objects.get()
    assert host.requests[0].headers["Authorization"] == f"Bearer {key}"
    assert [line["llm_call_id"] for line in lines if line["event"] == "llm_call"] == [str(call.id)]
    for text in (str(lines), call.error, str(caught.value), caught.value.detail):
        assert key not in text


def test_the_override_of_the_agent_names_the_model(agent):
    agent.model_overrides = {"chat": "big", "grillo": "small"}
    with ScriptedHost(["a"], repeat_last=True) as host, host.installed():
        complete(request(agent))
        complete(Request("reflection", [Message("user", "x")], agent=agent))
        complete(Request("judge", [Message("user", "x")], agent=agent))
        agent.model_overrides["judge"] = "quick"
        complete(Request("judge", [Message("user", "x")], agent=agent))
        complete(Request("review", [Message("user", "x")], agent=agent))
    assert [r.json["model"] for r in host.requests] == ["big", "small", "small", "quick", "small"]


def test_the_token_limit_of_a_call_is_the_smaller_one(settings):
    settings.LLM_MAX_TOKENS = 500
    with ScriptedHost(["a"], repeat_last=True) as host, host.installed():
        complete(request(max_tokens=9000))
        complete(request(max_tokens=90))
    assert [r.json["max_tokens"] for r in host.requests] == [500, 90]
