"""The registry of prompt layers: what an app adds to which prompts, how often it changes, how long it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.models import Agent, Person

PURPOSES = frozenset({"chat", "reflection", "proactive", "review", "sitting"})


class Volatility(IntEnum):
    """How often a layer's text changes. Steady layers come first, so calls share a common prefix."""

    FIXED = 0
    WEEKLY = 1
    DAILY = 2
    TURN = 3


@dataclass(frozen=True)
class LayerContext:
    """What a layer may look at. `at` is the aware instant the prompt is for; layers never read the clock.

    `said` is what the person just said, where that is known.
    """

    agent: Agent
    purpose: str
    at: datetime
    person: Person | None = None
    dialogue: Any = None
    said: str = ""


@dataclass(frozen=True)
class Layer:
    """One layer. `render` only reads; blank text means absent. Over `budget_chars` it is left out."""

    name: str
    volatility: Volatility
    purposes: frozenset[str]
    budget_chars: int
    render: Callable[[LayerContext], str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "purposes", frozenset(self.purposes))
        if not self.purposes <= PURPOSES:
            raise ValueError(f"layer {self.name}: purposes are {', '.join(sorted(PURPOSES))}")


_layers: dict[str, Layer] = {}


def register(layer: Layer) -> None:
    """Add a layer; called from an app's `ready()`. A name added twice is a programming error."""
    if layer.name in _layers and _layers[layer.name] != layer:
        raise ValueError(f"prompt layer {layer.name} is registered twice")
    _layers[layer.name] = layer


def unregister(name: str) -> None:
    """Take a layer out again; for tests."""
    _layers.pop(name, None)


def registered(purpose: str | None = None) -> list[Layer]:
    """Every layer, or those of one purpose, in the order they stand in a prompt."""
    chosen = [layer for layer in _layers.values() if purpose is None or purpose in layer.purposes]
    return sorted(chosen, key=lambda layer: (layer.volatility, layer.name))
