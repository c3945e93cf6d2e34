"""Whatever a causal model is made of, many continuations of one text are read as each whole text alone."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from judgments.ml.continuing import Continuing  # noqa: E402

pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # on a busy machine, threads for so little only wait for each other

TINY = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48}
PREFIX = [n % 61 + 2 for n in range(0, 200, 7)]
CANDIDATES = [3, 9, 20]


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**TINY, **HEADS))


def gemma_with_a_window_shorter_than_the_text():
    config = transformers.Gemma3TextConfig(
        **TINY,
        **HEADS,
        head_dim=8,
        sliding_window=8,
        layer_types=["sliding_attention", "full_attention"],
        final_logit_softcapping=2.0,
    )
    return transformers.Gemma3ForCausalLM(config)


def mistral_with_a_window_shorter_than_the_text():
    config = transformers.MistralConfig(**TINY, **HEADS, sliding_window=6)
    return transformers.MistralForCausalLM(config)


def gpt2_with_learned_places():
    config = transformers.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=128)
    return transformers.GPT2LMHeadModel(config)


def bloom_with_places_in_its_attention():
    return transformers.BloomForCausalLM(transformers.BloomConfig(**TINY, n_head=4))


def lfm2_with_convolutions():
    config = transformers.Lfm2Config(**TINY, **HEADS, layer_types=["conv", "full_attention"])
    return transformers.Lfm2ForCausalLM(config)


def mamba_without_attention():
    return transformers.MambaForCausalLM(transformers.MambaConfig(**TINY, state_size=4))


MODELS = {
    llama: "packed",
    gemma_with_a_window_shorter_than_the_text: "packed",
    mistral_with_a_window_shorter_than_the_text: "packed",
    gpt2_with_learned_places: "packed",
    bloom_with_places_in_its_attention: "repeated",
    lfm2_with_convolutions: "repeated",
    mamba_without_attention: "whole",
}


def rows(n: int) -> list[list[int]]:
    """Continuations of 1 to 12 tokens, many with a common beginning."""
    rng = random.Random(7)
    starts = [[rng.randrange(2, 64) for _ in range(4)] for _ in range(3)]
    return [
        [*rng.choice(starts)[: rng.randrange(1, 5)], *(rng.randrange(2, 64) for _ in range(rng.randrange(8)))]
        for _ in range(n)
    ]


def alone(model, row):
    with torch.inference_mode():
        return model(torch.tensor([[*PREFIX, *row]])).logits[0, -1, CANDIDATES].float()


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_each_is_as_if_read_alone(make):
    torch.manual_seed(2)
    model = make().eval()
    asked = rows(90)
    wanted = torch.stack([alone(model, row) for row in asked])
    continuing = Continuing(model, CANDIDATES)
    found = continuing.logits(PREFIX, asked)
    assert (found - wanted).abs().max() < 1e-4
    assert wanted.std(0).max() > 1e-3
    assert continuing.way == MODELS[make]


@pytest.mark.parametrize("make", [llama, lfm2_with_convolutions], ids=lambda make: make.__name__)
def test_the_text_is_read_once_however_many_continue_it(make):
    torch.manual_seed(2)
    model = make()
    continuing = Continuing(model, CANDIDATES)
    seen: list[int] = []
    model.get_input_embeddings().register_forward_hook(
        lambda _, given, __: seen.extend(given[0].flatten().tolist())
    )
    asked = [[63, n % 60 + 2, n // 60 + 2] for n in range(300)]
    continuing.logits([1, *PREFIX], asked)
    assert seen.count(1) == 1


def test_what_continuations_begin_with_in_common_is_read_once():
    torch.manual_seed(2)
    model = llama()
    continuing = Continuing(model, CANDIDATES)
    seen: list[int] = []
    model.get_input_embeddings().register_forward_hook(lambda _, given, __: seen.append(given[0].numel()))
    continuing.logits(PREFIX, [[5, 6, 7, n] for n in range(20)])
    assert sum(seen) == len(PREFIX) + 3 + 20


def test_only_the_candidates_are_computed():
    model = llama()
    Continuing(model, CANDIDATES)
    assert model.get_output_embeddings().weight.shape[0] == len(CANDIDATES)
