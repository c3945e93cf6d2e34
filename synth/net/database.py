"""Lets go of the database before a call to another host: no transaction and no connection waits for it."""

from __future__ import annotations

from django.db import connections


class InTransaction(RuntimeError):
    """A call to another host was about to be made inside a transaction."""


def leave() -> None:
    """Close this thread's database connections; InTransaction when one is in a transaction.

    The transaction that Django's test case wraps around a test does not count, and stays open.
    """
    for connection in connections.all(initialized_only=True):
        blocks = getattr(connection, "atomic_blocks", [])
        is_test_only = bool(blocks) and all(getattr(block, "_from_testcase", False) for block in blocks)
        if connection.in_atomic_block and not is_test_only:
            raise InTransaction("inside a transaction")
        if not connection.in_atomic_block:
            if connection.connection is not None and not connection.autocommit:
                raise InTransaction("autocommit is off")
            connection.close()
