"""The periodic calls of growth (docs/background.md)."""

from __future__ import annotations

from synth.background import register_tick


def register() -> None:
    """Called once when Django starts."""
    register_tick("growth.start_due", "growth.start_due", every_s=60)
    register_tick("growth.tend_proposals", "growth.tend_proposals", every_s=60)
