"""What the core asks torch itself; imported in the torch process only."""
