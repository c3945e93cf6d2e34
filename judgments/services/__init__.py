"""Everything that changes rows of judgments."""
