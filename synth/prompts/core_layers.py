"""The core's own prompt layers: who the agent is, what it likes, what it dislikes."""

from __future__ import annotations

from typing import Any

from synth.prompts.fencing import neutralise
from synth.prompts.layers import PURPOSES, Layer, LayerContext, Volatility, register

# Above what the longest persona can become when it is made inert: without it an agent would be nobody.
PERSONA_BUDGET = 320_000  # characters
LIST_BUDGET = 2_000


def persona(context: LayerContext) -> str:
    """The name and the trainer's text: identity, so not fenced; look-alikes in it are made inert."""
    name = " ".join(neutralise(context.agent.name).split())
    text = neutralise(context.agent.persona.strip())
    return f"You are {name}.\n\n{text}".strip() if name else text


def likes(context: LayerContext) -> str:
    """The live list of likes, one line."""
    return _listed("You like:", context.agent.likes)


def dislikes(context: LayerContext) -> str:
    """The live list of dislikes, one line."""
    return _listed("You dislike:", context.agent.dislikes)


def _listed(heading: str, items: Any) -> str:
    """`heading a; b; c.` within the budget; items that no longer fit are left off and counted."""
    texts = [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
    words = [word for text in texts if (word := " ".join(neutralise(text).split()))]
    shown: list[str] = []
    room = LIST_BUDGET - len(heading) - 30
    for word in words:
        room -= len(word) + 2
        if room < 0:
            break
        shown.append(word)
    if not shown:
        return ""
    more = f"; and {len(words) - len(shown)} more" if len(words) > len(shown) else ""
    return f"{heading} {'; '.join(shown)}{more}."


LAYERS = (
    Layer("persona", Volatility.FIXED, PURPOSES, PERSONA_BUDGET, persona),
    Layer("likes", Volatility.DAILY, PURPOSES, LIST_BUDGET, likes),
    Layer("dislikes", Volatility.DAILY, PURPOSES, LIST_BUDGET, dislikes),
)


def register_all() -> None:
    """Called from `SynthConfig.ready()`."""
    for layer in LAYERS:
        register(layer)
