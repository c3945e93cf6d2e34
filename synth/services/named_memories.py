"""Memories by name, as one person's dialogue sees them: theirs and those about nobody, never another's.

A name is unique among an agent's memories about one person, and among those about nobody.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from django.conf import settings
from django.db.models import Q, QuerySet

from synth.errors import Conflict, NotFound
from synth.memory_sizes import Entry
from synth.models import Agent, Memory, Person
from synth.services import memories

MAX_NAME_CHARS = memories.MAX_NAME_CHARS
PREFERENCE = "preference"
_TRIES = 3


def seen(agent: Agent | int, person: Person | int | None) -> QuerySet[Memory]:
    """What may be shown to this person; without one, what is about nobody. Rows or their ids."""
    scope = Q(about=None) if person is None else Q(about=None) | Q(about=person)
    return Memory.objects.defer("search").filter(scope, agent=agent)


def find(agent: Agent, person: Person | None, name: str) -> Memory | None:
    """The memory of that name, or `#id`, that this person may see; their own before one about nobody."""
    plain = " ".join(name.split())
    if plain.startswith("#"):
        digits = plain[1:]
        is_id = digits.isascii() and digits.isdigit() and len(digits) < 19
        return seen(agent, person).filter(pk=int(digits)).first() if is_id else None
    own = find_in(agent, person, plain) if person is not None else None
    return own or find_in(agent, None, plain)


def find_in(agent: Agent, about: Person | None, name: str) -> Memory | None:
    """The memory of that name about exactly this person (None: about nobody)."""
    name = unicodedata.normalize("NFC", name)  # as it is kept
    return seen(agent, about).filter(about=about, name=name).first()


def put(
    agent: Agent,
    about: Person | None,
    name: str,
    *,
    text: str,
    tags: Sequence[str] | None = None,
    kind: str | None = None,
    by: Person | None = None,
    door: str = "",
) -> tuple[Memory, bool]:
    """Create the memory or replace its text; (memory, whether it is new). Tags and kind stay where None.

    Errors as `memories.write`. Two at once make one memory.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    for _ in range(_TRIES):
        row = find_in(agent, about, name)
        try:
            if row is None:
                made = memories.write(
                    agent, text=text, tags=tags or (), kind=kind or "fact", about=about, by=by, door=door,
                    name=name,
                )  # fmt: skip
                return made, True
            more = {"tags": tags, "kind": kind}
            given = {key: value for key, value in more.items() if value is not None}
            return memories.update(row, text=text, by=by, door=door, **given), False  # type: ignore[arg-type]
        except (Conflict, NotFound):
            continue  # somebody made it, or took it away, meanwhile
    raise Conflict("This memory is being changed by others; try again.", code="name_taken", field="name")


def shown_name(row: Memory) -> str:
    """The name people and models know; `#id` for a memory without one."""
    return row.name or f"#{row.pk}"


def entry(row: Memory) -> Entry:
    """The memory as an index shows it."""
    return Entry(shown_name(row), row.kind, row.n_tokens, tuple(map(str, row.tags)))


def big(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    """Those over MEMORY_ENTRY_WARN_TOKENS, largest first; none where that is 0."""
    limit = settings.MEMORY_ENTRY_WARN_TOKENS
    return rows.filter(n_tokens__gt=limit).order_by("-n_tokens", "id") if limit else rows.none()
