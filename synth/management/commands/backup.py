"""Writes one file that holds the whole install."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from synth.backup import dump
from synth.backup.archive import BadBackup


class Command(BaseCommand):
    """`backup FILE.tar[.gz] [--without-keys] [--replace]`."""

    help = (
        "Write a consistent backup of the database (and the generated keys) while the server goes on working."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="FILE.tar or FILE.tar.gz")
        parser.add_argument(
            "--without-keys", action="store_true", help="leave out the keys of the embedded stack"
        )
        parser.add_argument("--replace", action="store_true", help="write over a file of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"].absolute()
        if path.exists() and not options["replace"]:
            raise CommandError(f"{path} exists; choose another name, or give --replace")
        try:
            manifest = dump.write(path, at=timezone.now(), with_keys=not options["without_keys"])
        except (BadBackup, OSError) as error:
            raise CommandError(str(error)) from error
        rows = sum(table.n_rows for table in manifest.tables)
        size = path.stat().st_size / 2**20
        self.stdout.write(f"{path}: {rows} rows of {len(manifest.tables)} tables, {size:.1f} MiB")
        if manifest.keys:
            self.stdout.write("The keys are inside. Whoever has this file has the install: keep it as safe.")
        elif settings.IS_EMBEDDED:
            self.stdout.write(
                "Without the keys: encrypted values can only be read by a server that has them."
            )
        else:
            self.stdout.write("The keys are in your environment, not in this file: keep them too.")
