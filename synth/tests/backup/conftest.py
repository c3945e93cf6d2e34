"""Databases of their own, and the commands run on them as an operator would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg import sql

ROOT = Path(settings.BASE_DIR)


class Other:
    """A database beside the test database."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def url(self) -> str:
        parts = urlsplit(os.environ["DATABASE_URL"])
        return urlunsplit(parts._replace(path="/" + quote(self.name)))

    def connect(self) -> psycopg.Connection:
        """A plain connection."""
        given = connection.get_connection_params()
        keys = ("host", "port", "user", "password")
        return psycopg.connect(
            dbname=self.name, autocommit=True, **{k: given[k] for k in keys if given.get(k)}
        )

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of one statement."""
        with self.connect() as link:
            return link.execute(statement).fetchall()

    def manage(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a management command on this database in a process of its own."""
        given = {key: value for key, value in os.environ.items() if key != "SYNTH_EMBEDDED"}
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env={**given, "DATABASE_URL": self.url, **env},
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def databases(transactional_db: None) -> Iterator[Callable[[str], Other]]:
    """Makes empty databases; they are dropped afterwards."""
    made: list[Other] = []

    def make(label: str) -> Other:
        other = Other(f"{connection.settings_dict['NAME']}_{label}")
        _run("DROP DATABASE IF EXISTS {} WITH (FORCE)", other.name)
        _run("CREATE DATABASE {}", other.name)
        made.append(other)
        return other

    yield make
    for other in made:
        _run("DROP DATABASE IF EXISTS {} WITH (FORCE)", other.name)


def _run(statement: str, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(sql.Identifier(name)).as_string(None))
