"""Runs queued cycles (being written)."""

from __future__ import annotations

from datetime import datetime


def run_waiting() -> int:
    """Nothing yet."""
    return 0


def ring_if_waiting(at: datetime) -> None:
    """Nothing yet."""
