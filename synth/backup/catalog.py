"""What a database holds: tables in an order that satisfies their references, sequences, sessions."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

from django.db import connection
from django.db.migrations.loader import MigrationLoader

# Rows of these are worth nothing elsewhere: logins, login attempts; migrations are named in the manifest;
# vectors are made again from their memories.
LEFT_OUT = ("django_session", "django_migrations", "synth_memoryvector")
LEFT_OUT_PREFIX = "axes_"
# Filled by migrations and start-up, so rows here do not make a database "in use".
BOOKKEEPING = (
    "django_content_type",
    "auth_permission",
    "auth_group",
    "auth_group_permissions",
    "synth_install",
    "synth_tick",
    "django_migrations",
)


def is_left_out(table: str) -> bool:
    """Whether a backup passes over this table."""
    return table in LEFT_OUT or table.startswith(LEFT_OUT_PREFIX)


def query(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def quoted(name: str) -> str:
    """A name as SQL."""
    return str(connection.ops.quote_name(name))


def tables() -> dict[str, list[str]]:
    """Columns that hold data, of each table of the current schema, parents before children."""
    found: dict[str, list[str]] = {}
    for name, columns in query(
        "SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') "
        "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' "
        "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') "
        "GROUP BY 1 ORDER BY 1"
    ):
        found[name] = list(columns)
    return {name: found[name] for name in _in_order(set(found))}


def _in_order(names: set[str]) -> list[str]:
    """Parents first. References checked at the end of a transaction, as Django's are, ask for no order."""
    parents: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for child, parent, is_deferred in query(
        "SELECT conrelid::regclass::text, confrelid::regclass::text, condeferrable FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace ORDER BY 1, 2"
    ):
        if child != parent and {child, parent} <= names and not is_deferred:
            parents[child].add(parent)
    try:
        return list(TopologicalSorter(parents).static_order())
    except CycleError:
        return sorted(names)


def sequences() -> dict[str, tuple[int, bool]]:
    """Where each sequence of the current schema stands: value, and whether it was handed out."""
    names = [
        row[0]
        for row in query(
            "SELECT relname FROM pg_class WHERE relkind = 'S' "
            "AND relnamespace = current_schema()::regnamespace ORDER BY 1"
        )
    ]
    return {name: query(f"SELECT last_value, is_called FROM {quoted(name)}")[0] for name in names}  # noqa: S608 - quoted


def set_sequences(wanted: dict[str, tuple[int, bool]]) -> None:
    """Put the sequences that exist here where they stood."""
    here = sequences()
    for name, (value, called) in wanted.items():
        if name in here:
            query("SELECT setval(%s::regclass, %s, %s)", quoted(name), value, called)


def leaves() -> dict[str, list[str]]:
    """The last applied migrations of each app."""
    loader = MigrationLoader(connection)
    applied = set(loader.applied_migrations)
    found: dict[str, list[str]] = {}
    for app, name in sorted(applied & set(loader.graph.nodes)):
        children = {child.key for child in loader.graph.node_map[app, name].children}
        if not any(child in applied and child[0] == app for child in children):
            found.setdefault(app, []).append(name)
    return found


def unknown(migrations: dict[str, list[str]]) -> list[str]:
    """Those of the given migrations that this version does not have."""
    nodes = MigrationLoader(connection).graph.nodes
    return [
        f"{app}.{name}" for app, names in migrations.items() for name in names if (app, name) not in nodes
    ]


def rows_in_use() -> dict[str, int]:
    """Tables that hold somebody's rows, with their numbers."""
    found: dict[str, int] = {}
    for name in tables():
        if name in BOOKKEEPING or is_left_out(name) or name.startswith("django_celery_beat_"):
            continue
        (n,) = query(f"SELECT count(*) FROM (SELECT FROM {quoted(name)} LIMIT 1000) t")[0]  # noqa: S608 - quoted
        if n:
            found[name] = n
    return found


def other_sessions() -> int:
    """How many other clients are connected to this database."""
    return int(
        query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )[0][0]
    )
