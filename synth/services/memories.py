"""Writes memories and recalls the best for a question; nothing else touches memories and word counts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from synth import registries
from synth.errors import Conflict, Invalid, NotFound
from synth.models import Agent, Memory, MemoryVector, Person
from synth.recall import index, lexemes, near, search, store
from synth.recall.meaning import Meaning, fuse
from synth.services import audit
from synth.text.words import is_unspaced

MAX_BYTES = 256 * 1024
MAX_TAGS = 50
CHARS_PER_TOKEN = 4
MAX_NAME_CHARS = 100
NAME = re.compile(r"[^\W_][\w .:-]*")
KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")
_BAD_CHARS = re.compile("[\x00\ud800-\udfff]")
_CHUNK = 1000
log = structlog.get_logger(__name__)


class Keep:
    """Marks a field that an update leaves alone (None means something for `about`)."""


KEEP: Final = Keep()


@dataclass(frozen=True)
class Scored:
    """A recalled memory and how well it fits, 0..1."""

    memory: Memory
    score: float


def recall(
    agent: Agent,
    query: str | Sequence[str],
    *,
    about: Person | None,
    limit: int,
    at: datetime | None = None,
    session: str = "",
    meaning: Meaning | None = None,
) -> list[Scored]:
    """The memories that fit a question (or a list of keywords) best, best first, at most `limit`.

    Memories about nobody, and those about `about` when given: never another person's. The bodies of at most
    `limit` rows are read; `at` is the instant freshness is counted from. With the question's `meaning` those
    that say the same in other words rise or come in (`synth.recall.meaning`). In a `session` what is found
    goes past the rerankers of other apps.
    """
    about_id = about.pk if about else None
    if limit < 1:
        return []
    n_found = limit if meaning is None else max(limit, store.KEEP)
    found: list[tuple[int, float]] = []
    asked = search.look_up(agent.pk, query, about_id)
    if asked is not None or meaning is not None:
        with transaction.atomic():
            store.settle()
            if asked is not None:
                found = search.search(asked, limit=n_found, at=at or timezone.now())
            if meaning is not None:
                near_ones = near.nearest(agent.pk, about_id, meaning, [pk for pk, _ in found])
                found = fuse(found, near_ones)[:limit]
    if not found:
        return []
    scope = Q(about=None) if about is None else Q(about=None) | Q(about=about)
    rows = Memory.objects.defer("search").filter(scope, agent=agent).in_bulk([pk for pk, _ in found])
    scored = [Scored(rows[pk], score) for pk, score in found if pk in rows]
    return _reranked(agent, query, scored, session) if session and scored else scored


def _reranked(agent: Agent, query: str | Sequence[str], found: list[Scored], session: str) -> list[Scored]:
    """The same in the order of the rerankers; one that fails changes nothing."""
    text = query if isinstance(query, str) else " ".join(query)
    for name, rerank in registries.recall_rerankers.items():
        try:
            found = list(rerank(agent, text, found, session=session))
        except Exception:  # noqa: BLE001 - recall works without any of them
            log.exception("reranker_failed", reranker=name)
    return found


def write(
    agent: Agent,
    *,
    text: str,
    tags: Sequence[str] = (),
    kind: str = "fact",
    name: str = "",
    about: Person | None = None,
    at: datetime | None = None,
    by: Person | None = None,
    door: str = "",
) -> Memory:
    """Keep something. Its `.note` says so when it is long. With a `door` the change is audited as `by`'s.

    Invalid for blank, oversized or unstorable text and malformed name, tags or kind; Conflict (`name_taken`)
    for a name that another memory about the same person has.
    """
    row = Memory(agent=agent, about=about, at=at or timezone.now())
    _fill(row, text=text, tags=tags, kind=kind, name=name)
    terms = lexemes.terms(row.name, row.tags, row.text)
    counts: Counter[str] = Counter()
    index.add(counts, row.about_id, terms, 1)
    with _named(row), transaction.atomic():
        index.lock(agent.pk)
        _save(row, terms)
        index.apply(agent.pk, counts)
        _audit(row, "memory_write", by, door)
    row.note = _note(0, row.n_tokens)
    return row


def update(
    memory: Memory,
    *,
    text: str | Keep = KEEP,
    tags: Sequence[str] | Keep = KEEP,
    kind: str | Keep = KEEP,
    name: str | Keep = KEEP,
    about: Person | None | Keep = KEEP,
    by: Person | None = None,
    door: str = "",
) -> Memory:
    """Change the given fields of a memory as it is now; errors as in `write`, NotFound when it is gone."""
    changes = {"text": text, "tags": tags, "kind": kind, "name": name}
    with transaction.atomic():
        index.lock(memory.agent_id)
        row = Memory.objects.defer("search").select_for_update().filter(pk=memory.pk).first()
        if row is None:
            raise NotFound("This memory no longer exists.")
        before, counts = row.n_tokens, Counter[str]()
        for about_id, held in index.held([row.pk]):
            index.add(counts, about_id, held, -1)
        _fill(row, **{field: value for field, value in changes.items() if not isinstance(value, Keep)})
        if not isinstance(about, Keep):
            row.about = about
        terms = lexemes.terms(row.name, row.tags, row.text)
        index.add(counts, row.about_id, terms, 1)
        with _named(row), transaction.atomic():
            _save(row, terms)
        MemoryVector.objects.filter(memory=row).delete()  # it was made from what stood here before
        index.apply(row.agent_id, counts)
        _audit(row, "memory_update", by, door)
    row.note = _note(before, row.n_tokens)
    return row


def delete(memory: Memory, *, by: Person | None = None, door: str = "") -> None:
    """Forget one memory; nothing happens when it is already gone."""
    with transaction.atomic():
        if delete_many(Memory.objects.filter(pk=memory.pk)):
            _audit(memory, "memory_delete", by, door)


def delete_about(person: Person) -> int:
    """Delete every memory about a person, of all agents; how many."""
    return delete_many(Memory.objects.filter(about=person))


def delete_many(rows: Any) -> int:
    """Delete the memories of a queryset, agent by agent and in chunks inside one transaction; how many."""
    n = 0
    with transaction.atomic():
        for agent_id in sorted(set(rows.order_by().values_list("agent_id", flat=True))):
            index.lock(agent_id)
            ids = list(rows.filter(agent_id=agent_id).order_by("id").values_list("id", flat=True))
            counts: Counter[str] = Counter()
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                for about_id, held in index.held(chunk):
                    index.add(counts, about_id, held, -1)
                n += Memory.objects.filter(pk__in=chunk).delete()[0]
            index.apply(agent_id, counts)
    return n


def reindex(agent: Agent) -> int:
    """Build the search terms of every memory and the agent's counts anew; how many memories.

    One transaction; writers of this agent wait for its end.
    """
    n, last = 0, 0
    with transaction.atomic():
        index.lock(agent.pk)
        while rows := list(
            Memory.objects.defer("search").filter(agent=agent, pk__gt=last).order_by("pk")[:_CHUNK]
        ):
            for row in rows:
                terms = lexemes.terms(row.name, row.tags, row.text)
                Memory.objects.filter(pk=row.pk).update(search=index.vector(agent.pk, row.about_id, terms))
            n, last = n + len(rows), rows[-1].pk
        index.recount(agent.pk)
    return n


def estimate_tokens(text: str) -> int:
    """Roughly how many tokens a model sees: one per character of unspaced scripts, else one per four."""
    unspaced = 0 if text.isascii() else sum(map(is_unspaced, text))
    return unspaced + math.ceil((len(text) - unspaced) / CHARS_PER_TOKEN)


def _audit(row: Memory, action: str, by: Person | None, door: str) -> None:
    if door:
        audit.record(by, door=door, action=action, object=f"synth.memory:{row.pk}", agent=row.agent)


def _save(row: Memory, terms: Sequence[str]) -> None:
    row.search = index.vector(row.agent_id, row.about_id, terms)
    row.save()
    del row.search  # an expression so far; left out, it counts as deferred


class _named:  # noqa: N801 - reads as a with statement's word
    """Turns a doubled name into Conflict."""

    def __init__(self, row: Memory) -> None:
        self.row = row

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IntegrityError) and "synth_memory_name_once" in str(error):
            raise Conflict(
                f"There is already a memory named {self.row.name}.", code="name_taken", field="name"
            ) from error


def _fill(row: Memory, **changes: Any) -> None:
    """Set checked values on a row."""
    for field, value in changes.items():
        setattr(row, field, _CHECKS[field](value))
    row.n_tokens = estimate_tokens(row.text)


def _text(value: Any) -> str:
    text = _plain(value, "text")
    if not text.strip():
        raise Invalid("A memory needs text.", code="blank", field="text")
    if len(text.encode()) > MAX_BYTES:
        raise Invalid(
            f"A memory holds at most {MAX_BYTES // 1024} KiB of text.", code="too_long", field="text"
        )
    return text


def _plain(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{field} must be text.", field=field)
    if _BAD_CHARS.search(value):
        raise Invalid(f"{field} holds a NUL or half a character.", code="bad_characters", field=field)
    return value


def _name(value: Any) -> str:
    name = unicodedata.normalize("NFC", _plain(value, "name")).strip()
    if name and (len(name) > MAX_NAME_CHARS or not NAME.fullmatch(_without_marks(name))):
        raise Invalid(
            "A name has up to 100 letters, digits, spaces and . : - _ only, a letter or digit first.",
            code="bad_name",
            field="name",
        )
    return name


def _without_marks(name: str) -> str:
    """The name without vowel signs and the joiners between them: parts of words, but no letters to Python.

    A mark that begins it stays, because it begins no word.
    """
    return name[:1] + "".join(
        c for c in name[1:] if c not in "\u200c\u200d" and unicodedata.category(c)[0] != "M"
    )


def _kind(value: Any) -> str:
    kind = _plain(value, "kind")
    if not KIND.fullmatch(kind):
        raise Invalid("A kind is a short lower-case word.", code="bad_kind", field="kind")
    return kind


def _tags(value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise Invalid("Tags must be a list of texts.", field="tags")
    tags = [_plain(tag, "tags").strip() for tag in value]
    tags = list(dict.fromkeys(tag for tag in tags if tag))
    if len(tags) > MAX_TAGS or any(len(tag) > 100 for tag in tags):
        raise Invalid(f"At most {MAX_TAGS} tags of 100 characters.", code="bad_tags", field="tags")
    return tags


_CHECKS = {"text": _text, "tags": _tags, "kind": _kind, "name": _name}


def _note(before: int, after: int) -> str:
    limit = settings.MEMORY_ENTRY_WARN_TOKENS
    if not limit or before > limit or after <= limit:
        return ""
    return (
        f"This memory is now about {after} tokens, over {limit}. Consider splitting it: long memories crowd "
        "out others in a prompt."
    )
