"""`docs/lifecycle.md`: every status column, drawn from the models' choices and docstrings."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models

from synth.docs_pages import DOCS, moves

HEAD = """# Lifecycles

Written by `manage.py docs` from the models; edit their docstrings, not this page.

A status moves by one guarded UPDATE that names the row and the status it was seen in. When no row matches,
somebody else moved it first, and the caller gets a conflict instead of a silent overwrite.
"""


@dataclass(frozen=True)
class Status:
    """One status column: its name, its values in order, the value of a new row, what docstrings say."""

    label: str
    values: list[str]
    default: str
    meaning: str
    docstring: str


def own_models() -> Iterator[type[models.Model]]:
    """Every model of this project's own apps, installed packages left out, by label."""
    root = DOCS.parent
    own = [config for config in apps.get_app_configs() if str(config.path).startswith(f"{root}/")]
    named = [model for config in own for model in config.get_models() if ".venv" not in str(config.path)]
    yield from sorted(named, key=lambda model: model._meta.label)


def statuses() -> Iterator[Status]:
    """Every column with choices called `status` (`app.Model`) or `..._status` (`app.Model.column`), by label.

    The moves of a `status` stand in its model's docstring, those of a further column in its choices'.
    """
    for model in own_models():
        for field in model._meta.fields:
            if field.choices and f"_{field.name}".endswith("_status"):
                yield _status(model, field)


def _status(model: type[models.Model], field: models.Field[Any, Any]) -> Status:
    values = [str(value) for value, _ in field.flatchoices]
    default, told = str(field.get_default() or ""), _told(model, values)
    if field.name == "status":
        return Status(model._meta.label, values, default, told, inspect.getdoc(model) or "")
    meaning, _, drawn = told.partition("\n\n")
    return Status(f"{model._meta.label}.{field.name}", values, default, meaning, drawn)


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for status in statuses():
        drawing = moves.diagram(status.values, status.default, moves.edges(status.docstring))
        parts += [f"## {status.label}\n", status.meaning + "\n", drawing + "\n", _unwrapped(status.docstring)]
    return "\n".join(parts).rstrip() + "\n"


def _unwrapped(docstring: str) -> str:
    """Each paragraph on one line, so that a docstring wrapped anew is no drift."""
    return "".join(" ".join(paragraph.split()) + "\n\n" for paragraph in docstring.split("\n\n"))


def _told(model: type[models.Model], values: list[str]) -> str:
    """The docstring of the TextChoices the column uses, found by its values in the model's module."""
    for item in vars(sys.modules[model.__module__]).values():
        if isinstance(item, type) and issubclass(item, models.TextChoices) and list(item.values) == values:
            return inspect.getdoc(item) or ""
    return ""
