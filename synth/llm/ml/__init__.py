"""The local language model itself; imported in the torch process only."""
