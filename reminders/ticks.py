"""The periodic calls of reminders (docs/background.md)."""

from __future__ import annotations

from synth.background import register_tick


def register() -> None:
    """Called once when Django starts."""
    register_tick("reminders.deliver", "reminders.deliver", every_s=60)
