"""Exit status 0 when a process of the role lives on this host, else 1; for container health checks."""

from __future__ import annotations

from typing import Any

import redis
from django.core.management.base import BaseCommand, CommandError, CommandParser

from synth import liveness


class Command(BaseCommand):
    """`manage.py role_alive worker`."""

    help = "Exit 0 if a process of this role on this host signed in the last 20 s, else 1."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The role, and whether any host will do."""
        parser.add_argument("role", choices=liveness.ROLES)
        parser.add_argument("--anywhere", action="store_true", help="count processes on other hosts too")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask Redis; CommandError (exit 1) when nobody signed or Redis is away."""
        role, host = options["role"], None if options["anywhere"] else liveness.here()
        try:
            found = liveness.alive(role, host=host)
        except redis.RedisError as error:
            raise CommandError(f"redis does not answer: {error}") from None
        if not found:
            raise CommandError(f"no {role} is alive{'' if host is None else ' on ' + host}")
        self.stdout.write(", ".join(f"{name} ({note})" for name, note in found.items()))
