"""The core in the admin site: persons, keys, agents, diary, memories, and what happened."""

from synth.admin import agents, keeping, people, records

__all__ = ["agents", "keeping", "people", "records"]
