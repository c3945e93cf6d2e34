"""Django's engine, except that `close()` keeps a clean connection for the next use in this process.

`DATABASES[…]["KEPT_CONNECTIONS"]` says how many at most; 0: each one is closed.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from django.utils.asyncio import async_unsafe

from synth.net.postgresql.kept import shelf


class DatabaseWrapper(base.DatabaseWrapper):
    """One thread's door to the database. Between `close()` and the next query it holds no connection."""

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """An idle connection of this process, else a new one."""
        self._params = conn_params
        kept = shelf.take(conn_params) if self._limit else None
        if kept is None:
            return super().get_new_connection(conn_params)
        level = self.settings_dict["OPTIONS"].get("isolation_level", IsolationLevel.READ_COMMITTED)
        self.isolation_level = IsolationLevel(level)
        return kept

    def close_pool(self) -> None:
        """Close the idle ones too; Django asks for it before it copies or drops a test database."""
        shelf.clear()
        super().close_pool()

    @property
    def _limit(self) -> int:
        return 0 if self.alias == NO_DB_ALIAS else int(self.settings_dict.get("KEPT_CONNECTIONS", 0))

    def _close(self) -> None:
        held = self.connection
        # Closed inside a transaction, Django still calls it this thread's connection until the block ends.
        if held is not None and not self.in_atomic_block and shelf.put(held, self._params, self._limit):
            return
        super()._close()  # type: ignore[misc]  # the stubs leave it out
