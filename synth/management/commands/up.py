"""Starts the whole stack; manage.py runs it without Django, this class lists it among the commands."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from synth.stack import up


class Command(BaseCommand):
    """`manage.py up`."""

    help = "Start the stores, migrate, seed the demo once, and run web, worker, torch worker and beat."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """No arguments: the environment decides."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until Ctrl-C, then leave with the stack's exit status."""
        sys.exit(up.main([]))
