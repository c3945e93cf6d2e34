"""Rows are the queue: leases, claims and doorbells (docs/background.md)."""
