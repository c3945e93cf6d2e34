"""Promises, and everything that reaches a person. Empty until its issue is built."""
