"""Checks `docs/privacy.md` against the models: which stored text columns its table lacks or invents."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from synth.docs_pages import DOCS, tables
from synth.docs_pages.lifecycle import own_models

PAGE = DOCS / "privacy.md"
KINDS = (
    models.CharField,
    models.TextField,
    models.JSONField,
    SearchVectorField,
    models.GenericIPAddressField,
    models.BinaryField,
    models.FileField,
)


def stored() -> set[str]:
    """Every stored text as `app.Model.column`; tables of installed packages count whole, as `app.Model.*`."""
    own = list(own_models())
    mine = {f"{model._meta.label}.{name}" for model in own for name in _columns(model)}
    others = {
        f"{m._meta.label}.*"
        for m in apps.get_models(include_auto_created=True)
        if m not in own and not m._meta.auto_created and any(_columns(m))
    }
    return mine | others


def listed(text: str | None = None) -> set[str]:
    """Every `app.Model.column` of the page's tables (columns `table` and `columns` of each row)."""
    page = PAGE.read_text(encoding="utf-8") if text is None else text
    found = set()
    for row in tables.read(page):
        if "columns" in row:
            names = row["columns"].replace("`", "").split(",")
            found |= {f"{row['table'].strip('`')}.{name.strip()}" for name in names}
    return found


def problems(text: str | None = None) -> list[str]:
    """One sentence for each column that is stored but not listed, or listed but not stored."""
    have, said = stored(), listed(text)
    missing = [f"{name} is stored but docs/privacy.md does not list it" for name in sorted(have - said)]
    return missing + [f"docs/privacy.md lists {name}, which is not stored" for name in sorted(said - have)]


def _columns(model: type[models.Model]) -> Iterator[str]:
    return (field.name for field in model._meta.concrete_fields if isinstance(field, KINDS))
