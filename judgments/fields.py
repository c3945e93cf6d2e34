"""A column for JSON as it was said: the order of keys is kept, at any depth the wire allows."""

from __future__ import annotations

from typing import Any

from django.db import models
from psycopg.types.json import Json

from judgments import strict_json


class OrderedJSON(models.JSONField):
    """PostgreSQL's `json`, which keeps the text; `jsonb` would sort the options of a question.

    Values must be free of NUL and lone surrogates (`strict_json.saveable`).
    """

    def db_type(self, connection: Any) -> str:
        return "json"

    def rel_db_type(self, connection: Any) -> str:
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if value is None or isinstance(value, Json) or hasattr(value, "resolve_expression"):
            return value
        return Json(value, dumps=strict_json.dumps)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return self.get_db_prep_value(value, connection)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value  # psycopg has read it already; Django switches that off for `jsonb` only
