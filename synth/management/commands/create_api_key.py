"""Makes an API key for a person, and the person if missing; the last word printed is the key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from synth.errors import DomainError
from synth.models import Door, Role
from synth.services import keys, people


class Command(BaseCommand):
    """`create_api_key USERNAME --role operator|trainer|person|app`."""

    help = "Create an API key (and its person, if missing); the last word printed is the key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--name", default="", help="a label for lists")
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            choices=keys.SCOPES,
            help="narrow an app key; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            person = people.ensure(options["username"])
            if options["role"] == Role.OPERATOR:
                person = people.make_operator(person, by=None, door=Door.COMMAND)
            issued = keys.issue(person, role=options["role"], name=options["name"], scopes=options["scope"])
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{options['role']} key of {person.username}, shown once: {issued.plain}")
