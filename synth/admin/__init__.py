"""The core in the admin site: persons, keys, agents, diary, memories, dialogues, approvals, records."""

from synth.admin import agents, approvals, dialogues, keeping, people, records, sittings

__all__ = ["agents", "approvals", "dialogues", "keeping", "people", "records", "sittings"]
