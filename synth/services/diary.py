"""The diary: entries are added, never edited."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.utils.timezone import now

from synth.errors import Invalid
from synth.models import Agent, DiaryEntry, DiarySource, Person
from synth.services import audit, fields

MAX_CONTENT_BYTES = 64 * 1024


def write(
    agent: Agent,
    *,
    content: str,
    at: datetime | None = None,
    source: str = DiarySource.AGENT,
    people: Iterable[str] = (),
    tags: Iterable[str] = (),
    by: Person | None = None,
    door: str = "",
) -> DiaryEntry:
    """Add one entry. `at` is aware (default: now); `people` and `tags` are lists of text.

    With a `door` the change is audited as `by`'s. Invalid: blank or NUL content, over 64 KiB, naive `at`.
    """
    fields.text(content, "content", max_chars=MAX_CONTENT_BYTES, is_blank_allowed=False)
    if len(content.encode()) > MAX_CONTENT_BYTES:
        raise Invalid("At most 64 KiB are allowed.", field="content", code="too_long")
    if source not in DiarySource.values:
        raise Invalid(f"One of {', '.join(DiarySource.values)} is needed.", field="source")
    row = DiaryEntry(
        agent=agent,
        at=now() if at is None else fields.instant(at),
        content=content,
        source=source,
        people=fields.items(people, "people"),
        tags=fields.items(tags, "tags"),
    )
    with transaction.atomic():
        row.save(force_insert=True)
        if door:
            audit.record(
                by, door=door, action="diary_write", object=f"synth.diaryentry:{row.pk}", agent=agent
            )
    return row
