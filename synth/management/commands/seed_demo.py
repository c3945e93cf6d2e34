"""`manage.py seed_demo`: two demo agents with three weeks of diary, and three persons to see them with."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.timezone import now

from synth.demo import seed
from synth.stack import logins


class Command(BaseCommand):
    """Seeds the demo world; what exists already is left as it is."""

    help = "Make the demo agents and persons that are missing. Running it twice changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--first-run` is what `manage.py up` passes at each start."""
        parser.add_argument(
            "--first-run",
            action="store_true",
            help="do nothing if the demo was seeded before or other agents exist",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed, and say what was made and where the passwords are."""
        if options["first_run"] and not seed.is_first_run():
            return
        made = seed.seed(at=now(), passwords=logins.passwords)
        for line in made:
            self.stdout.write(f"made {line}")
        if any(line.startswith("person") for line in made):
            self.stdout.write(f"their passwords are in {logins.path()}")
        if not made:
            self.stdout.write("the demo is already there")
