"""The core in the admin site: persons, keys, agents, diary, memories, dialogues, sittings, what happened."""

from synth.admin import agents, dialogues, keeping, people, records, sittings

__all__ = ["agents", "dialogues", "keeping", "people", "records", "sittings"]
