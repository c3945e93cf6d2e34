"""The prompt of an agent for a purpose: its layers in order, each within its budget, and a fingerprint.

A layer that fails or is too long is left out and logged; it never breaks the prompt.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog
from django.db import connection, transaction
from django.utils.timezone import now

from synth.llm.messages import Message, sha256
from synth.llm.tolerant import clean_text
from synth.prompts.layers import Layer, LayerContext, registered

if TYPE_CHECKING:
    from synth.models import Agent, Person

log = structlog.get_logger("synth.prompts")


@dataclass(frozen=True)
class Part:
    """One layer of a prompt. `text` is what the layer wrote, also when it was left out for being too long.

    `problem` is '', `over_budget` or `failed`. A blank layer is absent: not left out, and no part of the
    prompt.
    """

    name: str
    volatility: str
    text: str
    chars: int
    left_out: bool = False
    problem: str = ""

    @property
    def is_sent(self) -> bool:
        """Whether the text is in the prompt."""
        return bool(self.text) and not self.left_out


@dataclass(frozen=True)
class Prompt:
    """`text` is exactly what is sent; `fingerprint` is SHA-256 over the ordered hashes of the parts sent."""

    text: str
    fingerprint: str
    parts: list[Part]

    def message(self, *more: tuple[str, str]) -> Message:
        """The prompt as a system message that records each layer as its own part.

        `more` are (name, text) pairs that follow the layers.
        """
        sent = (*((part.name, part.text) for part in self.parts if part.is_sent), *more)
        return Message("system", "\n\n".join(text for _, text in sent), sent)


def assemble(
    agent: Agent,
    purpose: str,
    at: datetime | None = None,
    person: Person | None = None,
    dialogue: Any = None,
    said: str = "",
) -> Prompt:
    """The prompt as it would be sent at `at` (default: now). Reads only; a layer's trouble never raises."""
    context = LayerContext(agent, purpose, at or now(), person, dialogue, said)
    return stack([_part(layer, context) for layer in registered(purpose)])


def stack(parts: list[Part]) -> Prompt:
    """Parts, already in order, as one prompt. Texts are joined by a blank line."""
    texts = [part.text for part in parts if part.is_sent]
    return Prompt("\n\n".join(texts), sha256("\n".join(map(sha256, texts))), parts)


def _part(layer: Layer, context: LayerContext) -> Part:
    try:
        with _savepoint():
            text = clean_text(layer.render(context)).strip()
    except Exception as error:  # noqa: BLE001 - whatever a layer does, the agent must still be able to speak
        kind = type(error).__name__
        log.warning("prompt_layer_failed", layer=layer.name, agent=context.agent.slug, error=kind)
        return Part(layer.name, layer.volatility.name, "", 0, True, "failed")
    is_over = len(text) > layer.budget_chars
    if is_over:
        log.warning("prompt_layer_over_budget", layer=layer.name, agent=context.agent.slug, chars=len(text))
    problem = "over_budget" if is_over else ""
    return Part(layer.name, layer.volatility.name, text, len(text), is_over, problem)


def _savepoint() -> AbstractContextManager[Any]:
    """Inside a transaction a failed query would spoil it for the caller; a savepoint contains the damage."""
    return transaction.atomic() if connection.in_atomic_block else nullcontext()
