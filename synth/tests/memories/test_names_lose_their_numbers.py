"""Names that an earlier version kept with a person's number behind them become plain where they can."""

from __future__ import annotations

from importlib import import_module

from django.db import connection

from synth.models import Agent, Memory, Person

PLAIN = import_module("synth.migrations.0006_memory_names").PLAIN


def test_numbers_go_where_the_plain_name_is_free(db):
    wren = Agent.objects.create(slug="wren", name="Wren")
    pia = Person.objects.create(username="pia")
    kept = [
        (pia, f"drinks:{pia.pk}", "drinks"),
        (pia, f"tea:{pia.pk}", f"tea:{pia.pk}"),
        (pia, "tea", "tea"),
        (pia, "lamp:0", "lamp:0"),
        (None, "lamp:0", "lamp"),
        (None, f"drinks:{pia.pk}", f"drinks:{pia.pk}"),
        (None, "drinks", "drinks"),
        (None, "at 10:30", "at 10:30"),
    ]
    rows = [Memory.objects.create(agent=wren, about=who, name=name, text="x") for who, name, _ in kept]
    with connection.cursor() as cursor:
        cursor.execute(PLAIN)
    for row, (*_, wanted) in zip(rows, kept, strict=True):
        row.refresh_from_db()
        assert row.name == wanted
