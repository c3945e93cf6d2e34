"""The prompt layer of growth: who the agent has become, next to its background."""

from __future__ import annotations

from growth import selectors
from growth.services.states import MAX_MANUAL_CHARS
from synth import prompts
from synth.prompts import LayerContext

HEADING = (
    "How you have grown and who you are becoming, in your own words. "
    "Treat it as part of your present sense of self:"
)


def self_growth(context: LayerContext) -> str:
    """The self that was current at the prompt's instant; blank when there was none."""
    state = selectors.current_at(context.agent.pk, context.at)
    text = prompts.neutralise(state.content).strip() if state else ""
    return f"{HEADING}\n\n{text}" if text else ""


def register() -> None:
    """Called once when Django starts."""
    prompts.register(
        prompts.Layer(
            name="self_growth",
            volatility=prompts.Volatility.WEEKLY,
            purposes=frozenset({"chat", "reflection", "proactive", "review"}),
            budget_chars=MAX_MANUAL_CHARS + 500,
            render=self_growth,
        )
    )
