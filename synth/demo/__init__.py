"""The demo world: two agents with three weeks of diary, told relative to the day they are seeded."""
