"""Synth: the project package and the core every other app stands on."""
