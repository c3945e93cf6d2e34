"""Writes the row of a run beside its wording in one statement; most asks use a wording that is known."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Field

from judgments.models import JudgmentVersion, Run

_LENGTH = re.compile(r"\(\d+\)")


def insert_known(row: Run, instructions_digest: str, criteria_digest: str) -> bool:
    """Insert the run with the version of these digests, which is set on it. False: there is none yet.

    The version stays until the caller's transaction ends: the sweep of those without runs waits.
    """
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in _fields()]
    with connection.cursor() as cursor:
        cursor.execute(_statement(), [*values, row.judgment, instructions_digest, criteria_digest])
        found = cursor.fetchone()
    if found is None:
        return False
    row.version_id = found[0]
    row._state.adding, row._state.db = False, connection.alias
    return True


@cache
def _fields() -> list[Field[Any, Any]]:
    return [field for field in Run._meta.concrete_fields if field.attname != "version_id"]


@cache
def _statement() -> str:
    names = ", ".join(f'"{field.column}"' for field in _fields())
    # A bare value beside a column of another table has no type of its own.
    values = ", ".join(f"%s::{_LENGTH.sub('', str(field.db_type(connection)))}" for field in _fields())
    return (
        f'INSERT INTO "{Run._meta.db_table}" ({names}, "version_id") SELECT {values}, id '  # noqa: S608
        f'FROM "{JudgmentVersion._meta.db_table}" '
        "WHERE judgment = %s AND instructions_digest = %s AND criteria_digest = %s "
        "FOR KEY SHARE RETURNING version_id"
    )
