"""The torch worker's runner of the local language model: one reply at a time, token by token.

The keys and values of the last text stay, so that the next turn of a chat reads only what is new.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import torch
from django.conf import settings
from torch import Tensor

from synth.inference import probe, specs
from synth.inference.ml.loading import load_model
from synth.inference.runners import Answer, said
from synth.inference.wire import Problem
from synth.llm.ml import prompting
from synth.llm.ml.constraint import Constraint, Constraints
from synth.llm.ml.detokenizing import Detokenizing

STEP_TOKENS = 256  # of a prompt read at once; between two steps the worker looks after others
CONTEXT_MIB = 512  # for keys and values, and what a step computes
UNKNOWN_CONTEXT = 4_096
NO_CHANCE = 1e-3  # a temperature under it leaves the likeliest token only, or divides beyond what floats hold


class Generating:
    """Loads the model that LLM_LOCAL_MODEL names. ValueError without one."""

    keep_alive_s = 600.0

    def __init__(self) -> None:
        named = (settings.LLM_LOCAL_MODEL or "").strip()
        if not named:
            raise ValueError("LLM_LOCAL_MODEL is not set for the torch worker")
        self.path = Path(named)
        self.dtype = probe.tier().dtype
        self.needs_mib = specs.unpacked_mib(self.path, self.dtype) + CONTEXT_MIB
        self.model: Any = None
        self.tokenizer: Any = None
        self._kept: tuple[list[int], Any] | None = None

    def load(self) -> None:
        """Onto the accelerator where there is one. ValueError when it is no instruct model."""
        self.model, self.tokenizer, self.name = load_model(self.path, self.dtype)
        if not self.tokenizer.chat_template:
            raise ValueError(f"{self.name} has no chat template: it is no instruct model")
        device = "cuda" if probe.device_free_mib() is not None else "cpu"
        self.model.to(device).eval().requires_grad_(False)
        self.max_tokens = getattr(self.model.config, "max_position_embeddings", None) or UNKNOWN_CONTEXT
        self.ends = _ends(self.model, self.tokenizer)
        n_tokens = int(self.model.get_output_embeddings().weight.shape[0])
        self.constraints = Constraints(self.tokenizer, n_tokens, self.ends)

    def unload(self) -> None:
        """Forget everything; the memory goes back to the system."""
        self.model = self.tokenizer = self._kept = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Answer]:
        """Nothing is asked of it this way."""
        return [Problem("refused", "This kind is streamed.") for _ in batch]

    def stream(self, payload: dict[str, Any]) -> Generator[str, None, Answer]:
        """The words of the reply to `{messages, tools, max_tokens, temperature, schema}`."""
        try:
            prompt = prompting.tokens(self.tokenizer, payload["messages"], payload["tools"])
        except prompting.Unfit as error:
            return Problem("refused", str(error))
        if len(prompt) >= self.max_tokens:
            text = f"At most {self.max_tokens} tokens are read and written; the prompt has {len(prompt)}."
            return Problem("max_tokens_exceeded", text, self.max_tokens, len(prompt))
        limit = min(payload["max_tokens"], self.max_tokens - len(prompt))
        constraint = self.constraints.of(payload["schema"])
        reading = _Reading(self.model, self._kept, prompt)
        self._kept = None  # another reply may be made between two steps of this one
        yield from reading.prompt()
        words, finish, n = Detokenizing(self.tokenizer), "length", 0
        while n < limit:
            token = _picked(reading.logits, payload["temperature"], constraint)
            if token in self.ends:
                finish = "stop"
                break
            n += 1
            yield words.add(token)
            if constraint is not None and constraint.take(token):
                finish = "stop"
                break
            reading.add(token)
        yield words.end()
        self._kept = reading.kept()
        return said(self.name, finish, n_prompt=len(prompt), n_completion=n)


class _Reading:
    """A text that the model reads on, and the logits of what comes next."""

    def __init__(self, model: Any, kept: tuple[list[int], Any] | None, prompt: list[int]) -> None:
        self.model = model
        names = inspect.signature(type(model).forward).parameters
        self._name = "cache" if "cache" in names else "past_key_values"
        self.logits = torch.empty(0)
        self._cache: Any = None
        self._read: list[int] = []
        self._prompt = prompt
        if kept is not None:
            n_same = _n_same(kept[0], prompt[:-1])
            if n_same:
                if n_same < len(kept[0]):
                    kept[1].crop(n_same - len(kept[0]))
                self._cache, self._read = kept[1], prompt[:n_same]

    def prompt(self) -> Generator[str, None, None]:
        """Read it in steps."""
        for start in range(len(self._read), len(self._prompt), STEP_TOKENS):
            self._step(self._prompt[start : start + STEP_TOKENS])
            yield ""

    def add(self, token: int) -> None:
        """Read one more."""
        self._step([token])

    def kept(self) -> tuple[list[int], Any] | None:
        """For the next text; None where the cache cannot be cut back to a beginning (a window, a state)."""
        from transformers.cache_utils import DynamicCache, DynamicLayer

        is_plain = isinstance(self._cache, DynamicCache) and all(
            type(layer) is DynamicLayer for layer in self._cache.layers
        )
        return (self._read, self._cache) if is_plain else None

    def _step(self, tokens: list[int]) -> None:
        ids = torch.tensor([tokens], device=self.model.device)
        with torch.inference_mode():
            found = self.model(ids, use_cache=True, logits_to_keep=1, **{self._name: self._cache})
        self.logits, self._cache = found.logits[0, -1].float().cpu(), getattr(found, self._name)
        self._read.extend(tokens)


def _picked(logits: Tensor, temperature: float, constraint: Constraint | None) -> int:
    """The likeliest token, or one by chance where there is a temperature."""
    if constraint is not None:
        logits = constraint.allowed(logits)
    if temperature < NO_CHANCE:
        return int(logits.argmax())
    return int(torch.multinomial((logits / temperature).softmax(-1), 1))


def _n_same(a: list[int], b: list[int]) -> int:
    """How many tokens two texts have in common from their beginning."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """Tokens that end a reply, as the model and its tokenizer say."""
    named = [model.generation_config.eos_token_id, tokenizer.eos_token_id]
    flat = [token for one in named for token in (one if isinstance(one, list) else [one])]
    return list(dict.fromkeys(token for token in flat if token is not None))
