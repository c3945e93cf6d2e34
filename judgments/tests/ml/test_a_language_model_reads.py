"""Any causal language model answers by yes or no: in any order, shared or alone the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from judgments.ml.causal import MAX_TOKENS, CausalReader, load  # noqa: E402
from judgments.ml.encoding import TooLong  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.tests.ml.kit import question, reading  # noqa: E402

pytestmark = pytest.mark.torch
STATE = "The parcel has not arrived and nobody answers."
NOUL = {"type": "noul", "instructions": "Is the person angry?", "criteria": {"true": "They complain."}}
CHOICE: dict[str, Any] = {
    "type": "choice",
    "instructions": "What about?",
    "criteria": {"money": "Bills.", "post": None, "joy": "x"},
}
SCORE = {"type": "score", "instructions": "How urgent?", "criteria": ["not", "a bit", "very"]}


class Letters:
    """A tokenizer of bytes."""

    bos_token_id = 1

    def encode(self, text, add_special_tokens=False):
        return [min(255, ord(letter)) for letter in text]


@pytest.fixture(scope="module")
def reader():
    torch.manual_seed(5)
    config = transformers.LlamaConfig(
        vocab_size=256,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
    )
    return CausalReader(transformers.LlamaForCausalLM(config), Letters(), "tiny")


def test_questions_that_share_a_state_are_answered_as_alone(reader):
    asked = [question(wire) for wire in (NOUL, CHOICE, SCORE)]
    together = reader.answer(STATE, asked)
    alone = [reader.answer(STATE, [one])[0] for one in asked]
    assert together[0] == pytest.approx(alone[0], abs=1e-4)
    for a, b in zip(together[1:], alone[1:], strict=True):
        assert a == pytest.approx(b, abs=1e-4)
        assert sum(a) == pytest.approx(1)


def test_the_order_of_options_moves_nothing(reader):
    first = dict(zip(CHOICE["criteria"], reader.answer(STATE, [question(CHOICE)])[0], strict=True))
    for seed in range(4):
        names = random.Random(seed).sample(list(first), len(first))
        turned = question({**CHOICE, "criteria": {name: CHOICE["criteria"][name] for name in names}})
        found = dict(zip(names, reader.answer(STATE, [turned])[0], strict=True))
        assert found == pytest.approx(first, abs=1e-4)


def test_it_answers_what_no_head_was_trained_for_and_says_so(reader):
    readers = Readers(reading(), causal=reader)
    found = readers.answer([(STATE, question(NOUL)), (STATE, question(CHOICE))])
    assert {(one.reader, one.is_calibrated) for one in found} == {("causal:tiny", False)}


def test_a_state_over_its_limit_is_refused(reader):
    with pytest.raises(TooLong, match=str(MAX_TOKENS)):
        Readers(reading(), causal=reader).tokens("x" * MAX_TOKENS, [question(NOUL)])


def test_a_path_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no folder"):
        load(tmp_path / "missing.gguf")
