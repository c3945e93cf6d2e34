"""Lists the local models: purpose, package, licence, memory, and whether they are installed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from synth.inference import probe, specs


class Command(BaseCommand):
    """`manage.py models`; exit status 1 with `--check` when none can serve or one that is named is broken."""

    help = "List local models and where their weights come from; nothing is downloaded."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """`--check` turns what is missing into an exit status."""
        parser.add_argument("--check", action="store_true", help="fail unless all that is named can serve")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one block a model, then what this machine offers."""
        for spec in specs.SPECS:
            mark = " (default)" if spec.is_default else ""
            self.stdout.write(f"{spec.name}{mark}: {spec.purpose}")
            self.stdout.write(f"  licence {spec.licence}; about {spec.memory_mib} MiB as {spec.dtype}")
            self.stdout.write(f"  weights {spec.problem or spec.path}")
        listed = [one for lister in specs.LISTERS for one in lister()]
        for one in listed:
            self.stdout.write(one.heading)
            self.stdout.write(f"  {one.problem or one.about}")
        torch = "installed" if probe.has_torch() else "missing; pip install 'synth[ml]'"
        self.stdout.write(f"torch: {torch}")
        self.stdout.write(f"memory free: {probe.ram_free_mib() or 'unknown'} MiB")
        can_serve = probe.has_torch() and not specs.picked().problem
        if options["check"] and not (can_serve and all(not one.problem for one in listed)):
            raise CommandError("not everything can serve; see the lines above")
