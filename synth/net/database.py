"""Lets go of the database before a call to another host: no transaction and no connection waits for it."""

from __future__ import annotations

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper


class InTransaction(RuntimeError):
    """A call to another host was about to be made inside a transaction."""


def check() -> None:
    """InTransaction when this thread is in a transaction; nothing is closed.

    The transaction that Django's test case wraps around a test does not count.
    """
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block and not _is_test_only(connection):
            raise InTransaction("inside a transaction")


def leave() -> None:
    """Give this thread's database connections back; InTransaction when one is in a transaction.

    Another thread may take them at once; coming back costs a fraction of a millisecond. The transaction that
    Django's test case wraps around a test does not count, and stays open.
    """
    check()
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            if connection.connection is not None and not connection.autocommit:
                raise InTransaction("autocommit is off")
            connection.close()


def _is_test_only(connection: BaseDatabaseWrapper) -> bool:
    blocks = getattr(connection, "atomic_blocks", [])
    return bool(blocks) and all(getattr(block, "_from_testcase", False) for block in blocks)
