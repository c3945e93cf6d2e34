"""Parts are stored once, forgotten for good, and found again as of any instant."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now

from synth.llm import Request, complete
from synth.llm.messages import sha256
from synth.models import LlmCall, PromptPart
from synth.prompts import as_of, assemble, describe, parts
from synth.testing.scripted_host import ScriptedHost

pytestmark = pytest.mark.django_db


def speak(agent, session="dialogue:1"):
    prompt = assemble(agent, "chat")
    request = Request("chat", [prompt.message()], agent, session, fingerprint=prompt.fingerprint)
    with ScriptedHost(["hello"]) as host, host.installed():
        return prompt, complete(request)


def test_parts_are_saved_in_one_statement(django_assert_num_queries):
    with django_assert_num_queries(1):
        hashes = parts.save(["b", "a", "b"])
    assert hashes[0] == hashes[2] != hashes[1]
    assert PromptPart.objects.count() == 2
    with django_assert_num_queries(1):
        parts.save(["a", "c"])
    assert PromptPart.objects.count() == 3


def test_a_forgotten_part_stays_forgotten():
    digest = parts.save(["secret"])[0]
    assert parts.forget([digest]) == 1
    parts.save(["secret"])
    row = PromptPart.objects.get(pk=digest)
    assert (row.text, row.is_removed, parts.forget([digest])) == ("[removed]", True, 0)


def test_a_forgotten_layer_shows_as_removed_and_keeps_its_fingerprint(agent):
    agent.persona = "You know the code 4711."
    prompt, reply = speak(agent)
    parts.forget([sha256(prompt.parts[0].text)])
    found = describe(agent, "chat", now())
    assert "4711" not in str(found) and "[removed]" in found["text"]
    assert found["fingerprint"] == reply.fingerprint


def test_the_exact_prompt_of_the_nearest_call_is_found(agent):
    prompt, reply = speak(agent)
    LlmCall.objects.update(at=now() - timedelta(days=2))
    agent.persona = "You moved to the city."
    agent.save()
    later, _ = speak(agent)
    then = as_of(agent, "chat", now() - timedelta(days=1))
    assert (then.prompt.text, then.call_id, then.reconstructed) == (prompt.text, reply.call_id, False)
    assert then.prompt.fingerprint == prompt.fingerprint
    assert as_of(agent, "chat", now()).prompt.text == later.text
    assert [part.name for part in then.prompt.parts] == [part.name for part in prompt.parts if part.is_sent]


def test_before_the_first_call_it_is_reconstructed_and_says_so(agent):
    speak(agent)
    found = describe(agent, "chat", now() - timedelta(days=3))
    assert (found["reconstructed"], found["call_id"]) == (True, None)
    assert found["text"] == assemble(agent, "chat").text


def test_calls_of_another_purpose_or_dialogue_do_not_count(agent):
    speak(agent, "dialogue:7")
    assert as_of(agent, "review", now()).reconstructed
    assert as_of(agent, "chat", now(), dialogue=8).reconstructed
    assert not as_of(agent, "chat", now(), dialogue=7).reconstructed


def test_describe_has_the_shape_of_the_api(agent):
    found = describe(agent, "chat")
    assert set(found) == {"fingerprint", "text", "reconstructed", "call_id", "call_at", "layers"}
    assert set(found["layers"][0]) == {"name", "volatility", "chars", "text", "left_out", "problem"}
    assert found["reconstructed"] is False
