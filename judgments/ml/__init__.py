"""The readers that run in the torch process; only here may torch be imported."""
