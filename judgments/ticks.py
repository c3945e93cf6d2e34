"""The periodic calls of judgments (docs/background.md)."""

from __future__ import annotations

from synth.background import register_tick


def register() -> None:
    """Called once when Django starts."""
    register_tick("judgments.tend_later", "judgments.tend_later", every_s=60)
    register_tick("judgments.let_go", "judgments.let_go", every_s=3600)
