"""Layers that exist for one test."""

from __future__ import annotations

import pytest

from synth.models import Agent
from synth.prompts import Layer, Volatility, register, unregister


@pytest.fixture
def agent(db):
    return Agent.objects.create(
        slug="wren",
        name="Wren",
        persona="You keep the lighthouse.",
        likes=["tea", "rain"],
        dislikes=["noise"],
    )


@pytest.fixture
def layer():
    """Registers layers and takes them out again."""
    names: list[str] = []

    def add(name, render, volatility=Volatility.TURN, budget=1000, purposes=("chat",)):
        register(Layer(name, volatility, frozenset(purposes), budget, render))
        names.append(name)

    yield add
    for name in names:
        unregister(name)
