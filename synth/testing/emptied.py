"""A pytest plugin: after a test with real commits, only the tables that have rows are emptied.

Django's own flush truncates every table and makes permissions, content types and ticks anew, which takes
longer than most of these tests. It is used where the database's user may not put the checks of rows aside.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

KEPT = ("django_migrations", "django_content_type", "auth_permission")
TICKS = "django_celery_beat_"  # rows that each migration makes
_ticks: list[Any] = []


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Put this in the place of Django's."""
    from django.test import TransactionTestCase

    case: Any = TransactionTestCase
    flush = case._fixture_teardown

    def empty(self: TransactionTestCase) -> None:
        if _is_superuser():
            _empty()
        else:
            flush(self)

    case._fixture_teardown = empty


def _empty() -> None:
    _delete(name for name in _tables() if not name.startswith(TICKS))
    if not _ticks or _ticks != _ticks_now():
        from synth import background

        _delete(name for name in _tables() if name.startswith(TICKS))
        background.ensure_ticks()
        _ticks[:] = _ticks_now()


def _delete(tables: Iterable[str]) -> None:
    from django.db import connection

    rows = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in tables)
    with connection.cursor() as cursor:
        cursor.execute(rows)
        deletes = "; ".join(f"DELETE FROM {name}" for (name,) in cursor.fetchall())  # noqa: S608 - our tables
        if deletes:
            cursor.execute(
                f"SET session_replication_role = replica; {deletes}; RESET session_replication_role"
            )


def _ticks_now() -> list[Any]:
    from django_celery_beat import models

    kinds = (models.PeriodicTasks, models.PeriodicTask, models.IntervalSchedule, models.CrontabSchedule)
    return [list(kind.objects.order_by("pk").values()) for kind in kinds]


@cache
def _tables() -> tuple[str, ...]:
    from django.db import connection

    return tuple(sorted(set(connection.introspection.django_table_names(only_existing=True)) - set(KEPT)))


@cache
def _is_superuser() -> bool:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return bool(cursor.fetchone()[0])
