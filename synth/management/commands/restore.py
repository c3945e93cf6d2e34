"""Replaces the database by a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from synth.backup import load
from synth.backup.archive import BadBackup


class Command(BaseCommand):
    """`restore FILE [--force]`."""

    help = "Check a backup and put it in place of the database, in one transaction."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file that `backup` wrote")
        parser.add_argument("--force", action="store_true", help="replace the data that is there")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done = load.restore(options["file"], force=options["force"], say=self.stdout.write)
        except (BadBackup, load.NotNow) as error:
            raise CommandError(f"nothing was changed: {error}") from error
        except DatabaseError as error:
            raise CommandError(f"the database refused, and keeps its old data: {error}") from error
        self.stdout.write(f"Restored {done.n_rows} rows from {done.manifest.at}. New epoch {done.epoch}.")
        if done.keys:
            self.stdout.write(f"Keys put in place: {', '.join(done.keys)}.")
        self.stdout.write("Everybody has to sign in again; API keys work as before.")
