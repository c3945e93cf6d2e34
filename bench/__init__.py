"""Benchmarks with peers, one file each; `python -m bench.run` runs them all and prints one table."""
