"""What ships with judgments: questions, seeds, heads, their card."""
