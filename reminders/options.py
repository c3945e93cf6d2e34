"""The settings of what reaches people; read at each use, never kept."""

from __future__ import annotations

import os

from synth.options import Option, declare

WEBHOOK_ALLOW_PRIVATE = Option(
    "WEBHOOK_ALLOW_PRIVATE",
    "list",
    [],
    "Webhook hosts (host:port, comma-separated, or *) that may be private addresses and plain http.",
    app="reminders",
)

declare(WEBHOOK_ALLOW_PRIVATE)


def may_be_private(host_port: str) -> bool:
    """Whether the operator lets webhooks reach this `host:port` on a private network and without TLS."""
    allowed: list[str] = WEBHOOK_ALLOW_PRIVATE.read(os.environ)
    return "*" in allowed or host_port.lower() in {entry.lower() for entry in allowed}
