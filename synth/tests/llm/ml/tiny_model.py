"""A random Llama of bytes with a chat template, saved as a folder: an instruct model that knows nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|end|>"
    "{% endfor %}{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}<|start|>assistant\n"
)
PLAIN = (
    "{% for m in messages %}{% if m.role not in ('user', 'assistant') or "
    "(m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{{ m.role }}: {{ m.content }}\n{% endfor %}"
)


def tokenizer(template: str | None = TEMPLATE) -> Any:
    """One token a byte, and two that begin and end a message."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|start|>", "<|end|>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>")  # noqa: S106
    fast.chat_template = template
    return fast


def llama(places: int, **more: Any) -> Any:
    """Two layers of random weights, the same each time; `more` goes into the configuration."""
    import torch
    import transformers

    torch.manual_seed(5)
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=places,
        **more,
    )
    return transformers.LlamaForCausalLM(config)


def save(folder: Path, *, places: int = 4_096, template: str | None = TEMPLATE, **more: Any) -> Path:
    """The folder, with weights and tokenizer in it."""
    own = {"vocab_size": 258, "tie_word_embeddings": False, "eos_token_id": 257, "bos_token_id": None}
    llama(places, **{**own, **more}).save_pretrained(folder)
    tokenizer(template).save_pretrained(folder)
    return folder
