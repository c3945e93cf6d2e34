"""Codes, coins and settlements. Empty until its issue is built."""
