"""Growth in the admin site: the trainer's desk, proposals, settings with "Reflect now", cycles, selves."""

from growth.admin import desk, proposals, runs, settings, states

__all__ = ["desk", "proposals", "runs", "settings", "states"]
