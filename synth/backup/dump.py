"""Writes a backup of the whole database as it is at one instant, while the server goes on working."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from synth.backup import catalog
from synth.backup.archive import FORMAT, Manifest, Table, Writer, writing
from synth.stack.home import SECRETS


def write(path: Path, *, at: datetime, with_keys: bool = True) -> Manifest:
    """Write the backup file and return its manifest; must not run inside a transaction.

    Keys are included on the embedded stack only: with real servers they live in the environment.
    """
    with writing(path) as file, transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        manifest = Manifest(
            format=FORMAT,
            version=version("synth"),
            at=at.isoformat(),
            server=catalog.query("SHOW server_version")[0][0],
            epoch=str(
                catalog.query("SELECT coalesce((SELECT epoch::text FROM synth_install LIMIT 1), '')")[0][0]
            ),
            migrations=catalog.leaves(),
            sequences=catalog.sequences(),
        )
        for name, columns in catalog.tables().items():
            if not catalog.is_left_out(name):
                table = Table(name, columns)
                file.add_table(table, _rows(table))
                manifest.tables.append(table)
        if with_keys and settings.IS_EMBEDDED:
            _add_keys(file, manifest)
        file.finish(manifest)
    return manifest


def _rows(table: Table) -> Iterator[bytes]:
    columns = ", ".join(map(catalog.quoted, table.columns))
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {catalog.quoted(table.name)} ({columns}) TO STDOUT") as copy,
    ):
        yield from map(bytes, copy)


def _add_keys(file: Writer, manifest: Manifest) -> None:
    for name in SECRETS:
        path = Path(settings.SYNTH_HOME) / "keys" / name
        if path.is_file():
            manifest.keys.append(file.add(f"keys/{name}", path.read_bytes()))
