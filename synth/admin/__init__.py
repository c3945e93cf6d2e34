"""The core in the admin site: persons, keys, agents, diary, memories, dialogues, what was allowed and done."""

from synth.admin import agents, approvals, dialogues, keeping, people, records, sittings

__all__ = ["agents", "approvals", "dialogues", "keeping", "people", "records", "sittings"]
