"""Puts a backup back: everything is checked first, everything changes in one transaction.

The schema is dropped, made as it was when the backup was taken, filled, and brought to this version, all
before one commit. A kill at any moment leaves the old data.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from synth import faults
from synth.backup import archive, catalog
from synth.backup.archive import BadBackup, Manifest
from synth.stack.home import SECRETS, Home
from synth.stack.procs import open_lock, try_lock

faults.declare("restore.load.between", "a death between tables leaves the old data")
faults.declare("restore.commit.before", "a death before the commit leaves the old data")
faults.declare(
    "restore.keys.before", "a death after the commit leaves new data; the keys are put there again"
)


class NotNow(Exception):
    """The database may not be replaced as things are; the message says what to do."""


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    manifest: Manifest
    n_rows: int
    epoch: str
    keys: list[str]


def restore(path: Path, *, force: bool = False, say: Callable[[str], object] = str) -> Restored:
    """Replace the database by the backup; BadBackup or NotNow before anything was touched."""
    manifest = archive.verify(path)
    if missing := catalog.unknown(manifest.migrations):
        raise BadBackup(f"made by a newer version: this one has no {', '.join(missing)}")
    say(f"checked {len(manifest.members())} members, made {manifest.at} by version {manifest.version}")
    with home_lock():
        check_idle(force=force)
        keys = stage_keys(path, manifest)
        with transaction.atomic(durable=True):
            catalog.query("SELECT set_config('lock_timeout', '15s', true)")
            before = catalog.sequences()
            drop_all()
            _migrate(sorted((app, name) for app, names in manifest.migrations.items() for name in names))
            _empty()
            n_rows = _fill(path, manifest)
            catalog.set_sequences(manifest.sequences)
            _go_on_after(before)
            # Deferred checks run now: a migration may not alter a table that still has some to do.
            _do("SET CONSTRAINTS ALL IMMEDIATE")
            say(f"loaded {n_rows} rows of {len(manifest.tables)} tables")
            _migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
            _go_on_after(before)  # also in tables that the backup had not
            epoch = _new_epoch()
            faults.point("restore.commit.before")
        faults.point("restore.keys.before")
        for staged, final in keys:
            os.replace(staged, final)
        # Content types and permissions of models that are newer than the backup.
        call_command("migrate", verbosity=0, interactive=False)
        return Restored(manifest, n_rows, epoch, [final.name for _, final in keys])


@contextmanager
def home_lock() -> Iterator[None]:
    """Hold the embedded home's lock, so that no `up` runs or starts meanwhile; NotNow when one runs."""
    if not settings.IS_EMBEDDED:
        yield
        return
    lock = open_lock(Home(Path(settings.SYNTH_HOME)).run / "up.lock")
    try:
        if not try_lock(lock):
            raise NotNow("the server of this home is running; stop it first")
        yield
    finally:
        os.close(lock)


def check_idle(*, force: bool) -> None:
    """NotNow while others use the database or it has data (unless forced), or when it is not Synth's."""
    here = catalog.tables()
    if here and "django_migrations" not in here:
        raise NotNow(f"this database is not Synth's: it has {', '.join(list(here)[:5])}")
    if force:
        return
    if others := catalog.other_sessions():
        raise NotNow(f"{others} other sessions use this database; stop the server, or give --force")
    if rows := catalog.rows_in_use():
        few = ", ".join(f"{name} ({n})" for name, n in list(rows.items())[:4])
        raise NotNow(f"this database has data: {few}. --force replaces all of it")


def drop_all() -> None:
    """Drop every table, sequence and function of the current schema that no extension owns."""
    for (name,) in catalog.query(
        "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
        "AND c.relkind IN ('r', 'p') AND NOT EXISTS "
        "(SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
    ):
        _do(f"DROP TABLE IF EXISTS {name} CASCADE")
    for (name,) in catalog.query(
        "SELECT p.oid::regprocedure::text FROM pg_proc p "
        "WHERE p.pronamespace = current_schema()::regnamespace "
        "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
    ):
        _do(f"DROP ROUTINE IF EXISTS {name} CASCADE")


def _do(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _migrate(targets: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(targets)


def _empty() -> None:
    """Take out what migrations put in; the backup has its own."""
    _do("SET CONSTRAINTS ALL IMMEDIATE")
    names = [catalog.quoted(name) for name in catalog.tables() if name != "django_migrations"]
    _do(f"TRUNCATE {', '.join(names)} CASCADE")
    _do("SET CONSTRAINTS ALL DEFERRED")


def _fill(path: Path, manifest: Manifest) -> int:
    """Load every table, in the order they stand in the file (parents first); the number of rows."""
    by_piece = {piece.name: table for table in manifest.tables for piece in table.pieces}
    n_rows = 0
    source = ((by_piece[name], data) for name, data in archive.members(path) if name in by_piece)
    current = next(source, None)
    for table in manifest.tables:
        if not table.pieces:
            continue
        columns = ", ".join(map(catalog.quoted, table.columns))
        with connection.cursor() as cursor:
            with cursor.copy(f"COPY {catalog.quoted(table.name)} ({columns}) FROM STDIN") as copy:
                while current is not None and current[0] is table:
                    copy.write(current[1])
                    current = next(source, None)
            if cursor.rowcount != table.n_rows:
                raise BadBackup(f"{table.name}: {cursor.rowcount} rows instead of {table.n_rows}")
            n_rows += cursor.rowcount
        faults.point("restore.load.between")
    return n_rows


def _go_on_after(before: dict[str, tuple[int, bool]]) -> None:
    """Redis, clients and other servers know rows by number: none is given to another row."""
    catalog.set_sequences({n: max(at, before.get(n, at)) for n, at in catalog.sequences().items()})


def _new_epoch() -> str:
    """Streams of the old database must not be continued here."""
    epoch = str(uuid.uuid4())
    catalog.query("UPDATE synth_install SET epoch = %s RETURNING id", epoch)
    return epoch


def stage_keys(path: Path, manifest: Manifest) -> list[tuple[Path, Path]]:
    """Write the backup's keys beside the present ones (embedded stack only); pairs of new and final path."""
    if not manifest.keys or not settings.IS_EMBEDDED:
        return []
    folder = Path(settings.SYNTH_HOME) / "keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = {f"keys/{name}": name for name in SECRETS}
    staged = []
    for name, data in archive.members(path):
        if name in wanted:
            new = folder / f".{wanted[name]}.restored"
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                os.fsync(file.fileno())
            staged.append((new, folder / wanted[name]))
    return staged
