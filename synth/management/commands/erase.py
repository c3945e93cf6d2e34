"""Erases a person or an agent for good and prints a receipt."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from synth.errors import DomainError
from synth.services import erase


class Command(BaseCommand):
    """`erase --person USERNAME | --agent SLUG [--yes] [--dry-run]`."""

    help = "Erase a person or an agent for good; prints a receipt as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        subject = parser.add_mutually_exclusive_group(required=True)
        subject.add_argument("--person", metavar="USERNAME")
        subject.add_argument("--agent", metavar="SLUG")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--dry-run", action="store_true", help="count what would go, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["person"] or options["agent"]
        if not options["yes"] and not options["dry_run"]:
            self.stderr.write(f"This erases {name} and everything about it, for good.")
            try:
                answer = input(f"Type {name} to go on: ")
            except EOFError:
                raise CommandError(
                    "nothing was erased: nobody was there to ask; --yes does not ask"
                ) from None
            if answer.strip() != name:
                raise CommandError("nothing was erased")
        do = erase.erase_person if options["person"] else erase.erase_agent
        try:
            receipt = do(name, at=timezone.now(), is_dry_run=options["dry_run"])
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(json.dumps(receipt.as_json(), indent=2, sort_keys=True))
