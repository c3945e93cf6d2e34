"""The core in the admin site: persons, keys, agents, diary, memories, dialogues, and what happened."""

from synth.admin import agents, dialogues, keeping, people, records

__all__ = ["agents", "dialogues", "keeping", "people", "records"]
