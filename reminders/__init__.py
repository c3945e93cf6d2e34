"""Promises, and everything that reaches a person."""
