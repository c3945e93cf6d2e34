"""Prompts as stacked layers: `register`, `assemble`, `describe`, `as_of`, and `fence` for what others wrote.

Names are looked up on first use, so `fencing` and `layers` can be imported before Django is set up.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.prompts.assembly import Part, Prompt, assemble
    from synth.prompts.fencing import fence, neutralise
    from synth.prompts.layers import Layer, LayerContext, Volatility, register, registered, unregister
    from synth.prompts.past import as_of, describe

_HOMES = {
    "as_of": "past",
    "describe": "past",
    "Part": "assembly",
    "Prompt": "assembly",
    "assemble": "assembly",
    "fence": "fencing",
    "neutralise": "fencing",
    "Layer": "layers",
    "LayerContext": "layers",
    "Volatility": "layers",
    "register": "layers",
    "registered": "layers",
    "unregister": "layers",
}

__all__ = [
    "Layer",
    "LayerContext",
    "Part",
    "Prompt",
    "Volatility",
    "as_of",
    "assemble",
    "describe",
    "fence",
    "neutralise",
    "register",
    "registered",
    "unregister",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
