"""Puts made-up memories into the database in one COPY, indexed as `synth.services.memories.write` would."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from django.db import connection, transaction

from bench.corpus import Made
from synth.models import Agent
from synth.recall import index, lexemes
from synth.services.memories import estimate_tokens

_COLUMNS = "agent_id, about_id, name, text, tags, kind, n_tokens, at, updated_at, search"


def load(agent: Agent, made: Iterable[Made], about_id: int | None = None) -> None:
    """Insert memories and count their terms."""
    scope = lexemes.scope(agent.pk, about_id)
    with transaction.atomic():
        index.lock(agent.pk)
        with connection.cursor() as cursor:
            with cursor.cursor.copy(f"COPY synth_memory ({_COLUMNS}) FROM STDIN") as copy:
                for one in made:
                    copy.write_row(_row(agent.pk, about_id, scope, one))
            index.recount(agent.pk)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE synth_memory, synth_memoryterm")


def _row(agent_id: int, about_id: int | None, scope: str, one: Made) -> tuple[object, ...]:
    terms = lexemes.terms(one.name, one.tags, one.text)
    vector = " ".join(f"'{scope}{term}'" for term in terms)
    at: datetime = one.at
    return (
        agent_id,
        about_id,
        one.name,
        one.text,
        json.dumps(one.tags),
        "fact",
        estimate_tokens(one.text),
        at,
        at,
        vector,
    )
