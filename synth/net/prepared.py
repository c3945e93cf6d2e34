"""Querysets whose SQL Django writes down once: on a busy path the writing costs more than the database."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet

# A value of each type that no queryset holds by itself, to find its place in the SQL by.
_EXAMPLES: dict[type, Callable[[int], Any]] = {
    str: lambda n: f"the value of place {n}",
    int: lambda n: 7_000_000_000_000_000_000 + n,
    datetime: lambda n: datetime(1900, 1, 1, tzinfo=UTC) + timedelta(days=n),
    UUID: lambda n: UUID(int=n),
}
Row = TypeVar("Row", bound=Model)


class Prepared(Generic[Row]):
    """The queryset that `make` returns for values of these types, run later with others.

        of_digest = Prepared(lambda digest: ApiKey.objects.filter(sha256=digest), digest=str)
        of_digest.rows(digest="…")

    Rows come as from the queryset itself: related rows, annotations, converters. A value goes into the SQL as
    it is given: None, lists, and values that a lookup rewrites (`icontains`) cannot be left open.
    """

    def __init__(self, make: Callable[..., QuerySet[Row]], **places: type) -> None:
        self._make = make
        self._places = places
        self._written: _Written | None = None

    def rows(self, **values: Any) -> list[Row]:
        """Run it. TypeError for a value that is missing, too many, or of another type."""
        is_fit = all(isinstance(values.get(name), kind) for name, kind in self._places.items())
        if not is_fit or len(values) != len(self._places):
            given = {name: type(value) for name, value in values.items()}
            raise TypeError(f"needs {self._places}, got {given}")
        if self._written is None:
            self._written = _write(self._make, self._places)
        return self._written.run(values)

    def first(self, **values: Any) -> Row | None:
        """The first row; the queryset itself says in which order, and that no more are read."""
        return next(iter(self.rows(**values)), None)


@dataclass(frozen=True)
class _Place:
    """Where a value comes in. `wrap`: Django tells the database how wide a number is."""

    name: str
    wrap: Callable[[Any], Any]


@dataclass(frozen=True)
class _Written:
    """A queryset, what reads its rows, and its SQL."""

    queryset: QuerySet[Any]
    compiler: Any
    sql: str
    params: tuple[Any, ...]

    def run(self, values: dict[str, Any]) -> list[Any]:
        params = tuple(p.wrap(values[p.name]) if isinstance(p, _Place) else p for p in self.params)
        compiler = copy.copy(self.compiler)
        compiler.connection = connections[DEFAULT_DB_ALIAS]
        compiler.as_sql = lambda *_, **__: (self.sql, params)
        found = self.queryset.all()
        found.query.get_compiler = lambda *_, **__: compiler  # type: ignore[method-assign]
        return list(found)


def _write(make: Callable[..., QuerySet[Any]], places: dict[str, type]) -> _Written:
    examples = {name: _EXAMPLES[kind](n) for n, (name, kind) in enumerate(places.items(), 1)}
    queryset = make(**examples)
    compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    sql, given = compiler.as_sql()
    params = tuple(_place(param, examples) or param for param in given)
    if lost := places.keys() - {param.name for param in params if isinstance(param, _Place)}:
        raise TypeError(f"the SQL has no place for {', '.join(sorted(lost))}")
    compiler.connection = None  # this thread's, which ends before the process
    return _Written(queryset, compiler, sql, params)


def _place(param: Any, examples: dict[str, Any]) -> _Place | None:
    for name, example in examples.items():
        if isinstance(param, type(example)) and param == example:
            return _Place(name, type(param) if isinstance(param, int) else _as_it_is)
    return None


def _as_it_is(value: Any) -> Any:
    return value
