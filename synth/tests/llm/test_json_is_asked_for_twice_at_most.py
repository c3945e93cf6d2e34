"""`complete_json`: closed schema unless lenient, one stricter retry, both calls on record."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from synth.llm import LlmError, Message, Request, ask_json, complete_json
from synth.models import LlmCall
from synth.testing.scripted_host import ScriptedHost

pytestmark = pytest.mark.django_db
REQUEST = Request("review", [Message("system", "You are Wren."), Message("user", "Count.")], journal_key="k")


class Count(BaseModel):
    n: int
    why: str = ""


def test_a_schema_is_validated_and_given_back():
    with ScriptedHost(['{"n": 3}']) as host, host.installed():
        found = complete_json(REQUEST, schema=Count)
    assert (found.model, found.value, found.n_calls) == (Count(n=3), {"n": 3}, 1)


def test_unknown_keys_are_refused_unless_lenient():
    replies = ['{"n": 3, "x": 1}'] * 3
    with ScriptedHost(replies) as host, host.installed():
        with pytest.raises(LlmError) as caught:
            complete_json(REQUEST, schema=Count)
        assert caught.value.reason == "bad_shape"
        lenient = Request("review", REQUEST.messages)
        assert complete_json(lenient, schema=Count, lenient=True).model == Count(n=3)


def test_the_retry_is_stricter_says_why_and_keeps_the_roles():
    with ScriptedHost(["sorry", '{"n": 4}']) as host, host.installed():
        found = complete_json(REQUEST, schema=Count)
    first, second = host.requests
    assert found.notes[0] == "retried: no_object"
    assert "held no JSON object" in second.text and "n" in second.text
    assert second.text.startswith(first.text)
    assert [m["role"] for m in second.json["messages"]] == ["system", "user"]
    assert [c.journal_key for c in LlmCall.objects.order_by("at")] == ["k", "k:stricter"]


def test_a_cut_reply_is_refused_even_when_it_looks_whole():
    cut = {"content": '{"n": 1}', "finish_reason": "length"}
    with ScriptedHost([cut, cut]) as host, host.installed():
        with pytest.raises(LlmError) as caught:
            complete_json(REQUEST, schema=Count)
    assert caught.value.reason == "cut"
    assert caught.value.call_id == LlmCall.objects.latest("at").id


def test_trouble_of_the_host_is_not_retried():
    with ScriptedHost(["sorry", {"status": 503}]) as host, host.installed():
        with pytest.raises(LlmError) as caught:
            complete_json(REQUEST, schema=Count)
    assert (caught.value.reason, len(host.requests)) == ("llm_overloaded", 2)


def test_ask_json_is_one_call_and_says_what_its_check_said():
    with ScriptedHost(['{"n": 1}', '{"n": 2}']) as host, host.installed():
        bad = ask_json(REQUEST, ["n"], lambda value: "n must be 2" if value["n"] != 2 else "")
        good = ask_json(Request("review", REQUEST.messages), ["n"])
    assert (bad.value, bad.problem) == (None, "n must be 2")
    assert (good.value, good.problem) == ({"n": 2}, "")
