"""`manage.py webhook_key URL`: the key a receiver needs to check signatures; the last word printed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reminders import paths
from reminders.channels import webhook
from synth.errors import Invalid


class Command(BaseCommand):
    """Shows the key that signs what goes to one webhook."""

    help = (
        "Print the key that signs deliveries to a webhook. X-Synth-Signature is sha256= and the hex "
        "HMAC-SHA256 of X-Synth-Timestamp + '.' + body under it. One key for one origin and path; the query "
        "does not count."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", help="as in interface_path, without webhook/")

    def handle(self, *args: Any, url: str, **options: Any) -> None:
        try:
            path = paths.parse(f"webhook/{url.removeprefix('webhook/')}")
        except Invalid as error:
            raise CommandError(error.message) from None
        self.stdout.write(webhook.key_of(path.target))
