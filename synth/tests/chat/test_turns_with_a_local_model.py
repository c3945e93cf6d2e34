"""A turn of a chat with LLM_BASE_URL=local: its words, its actions, and real weights that know nothing."""

from __future__ import annotations

from typing import Any

import pytest

from synth.inference.runners import Stub, said
from synth.inference.wire import Problem
from synth.models import LlmCall
from synth.services import turns
from synth.tests.chat.conftest import tree
from synth.tests.llm.local import served


@pytest.fixture(autouse=True)
def local(settings):
    settings.LLM_BASE_URL, settings.LLM_LOCAL_MODEL = "local", "/models/twin"


class Says(Stub):
    """Says these texts, one a call; refuses tools where it knows none."""

    def __init__(self, *texts: str, takes_tools: bool = True) -> None:
        super().__init__()
        self.texts, self.takes_tools = list(texts), takes_tools
        self.payloads: list[dict[str, Any]] = []

    def stream(self, payload):
        self.payloads.append(payload)
        if payload["tools"] and not self.takes_tools:
            return Problem("refused", "The chat template of this model takes no tools.")
        yield from self.texts.pop(0)
        return said("twin", "stop", n_prompt=1, n_completion=1)


def take(dialogue, content, model):
    with served(generate=lambda: model):
        return turns.take(dialogue, dialogue.person, content)


def test_an_action_between_marks_is_performed_and_told_back(dialogue, add):
    rung = add()
    asks = 'Let me.<tool_call>{"name": "bell_ring", "arguments": {"times": 2}}</tool_call>'
    model = Says(asks, "It rang.")
    answer = take(dialogue, "Ring.", model)
    assert rung[0].times == 2 and answer.content == "It rang."
    assert [text for _, _, text in tree(dialogue)] == ["Ring.", "Let me.", "The bell rang (1).", "It rang."]
    assert [m["role"] for m in model.payloads[1]["messages"]] == ["system", "user", "assistant", "tool"]


def test_a_model_without_tools_asks_for_actions_in_its_text(dialogue, add):
    rung = add()
    text = 'Sure. {"actions": [{"type": "bell_ring", "payload": {"times": 2}}]}'
    answer = take(dialogue, "Ring.", Says(text, "It rang.", takes_tools=False))
    assert rung[0].times == 2 and answer.content == "It rang."


@pytest.mark.torch
def test_a_turn_with_real_weights_is_answered(dialogue, settings, tmp_path):
    pytest.importorskip("torch")
    from synth.llm.ml.generating import Generating
    from synth.tests.llm.ml import tiny_model

    settings.LLM_LOCAL_MODEL = str(tiny_model.save(tmp_path / "tiny", places=32_768))
    settings.LLM_MAX_TOKENS = 16
    with served(generate=Generating):
        answer = turns.take(dialogue, dialogue.person, "Who are you?")
    assert answer.status == "complete" and answer.metadata["is_cut"]
    call = LlmCall.objects.get()
    assert (call.backend, call.model, call.n_completion_tokens) == ("local", "tiny", 16)
    assert (call.n_prompt_tokens or 0) > 200 and answer.content
