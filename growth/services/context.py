"""What a cycle looks at: the week's diary within a budget, the memories it brings to mind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from growth import clock as rules
from growth import selectors
from growth.excerpts import budget
from growth.models import GrowthRun, GrowthState
from growth.moments import NO_EVIDENCE, Entry
from growth.services.effective import EffectiveSettings
from synth.selectors import diary_between
from synth.services import meanings, memories
from synth.text.words import keywords

if TYPE_CHECKING:
    from synth.models import DiaryEntry

DIARY_BUDGET_CHARS = 24_000
MEMORY_CHARS = 400
MAX_KEYWORDS = 40
KEYWORD_CHARS = 60_000
ECHO_CHARS = 40  # shorter texts may be the same by chance


@dataclass(frozen=True)
class Context:
    """All a reflection may draw on. `entries` are oldest first, `when` gives their local times."""

    entries: tuple[Entry, ...]
    when: dict[int, str]
    n_left_out: int
    memories: tuple[str, ...]
    first_on: date
    last_on: date


def build(run: GrowthRun, settings: EffectiveSettings) -> Context:
    """The context of a run. It looks back from the run's intended date, else from the local date it was made
    on, so a retry after midnight sees the same days."""
    agent = run.agent
    days = rules.window(anchor(run, agent.timezone), agent.timezone, settings.diary_days)
    current = selectors.current(run.agent_id)
    rows = [
        row
        for row in diary_between(agent, days.start, days.end)
        if row.source not in NO_EVIDENCE and not _is_echo(row, current)
    ]
    zone = rules.zone_of(agent.timezone)
    local = {row.pk: row.at.astimezone(zone) for row in rows}
    fitting = budget(
        (Entry(row.pk, local[row.pk].date(), row.content, row.source) for row in rows), DIARY_BUDGET_CHARS
    )
    return Context(
        entries=fitting.kept,
        when={pk: f"{at:%A %Y-%m-%d %H:%M}" for pk, at in local.items()},
        n_left_out=fitting.n_left_out,
        memories=_recalled(run, fitting.kept, settings.memory_limit),
        first_on=days.dates[0],
        last_on=days.dates[-1],
    )


def _recalled(run: GrowthRun, entries: Sequence[Entry], limit: int) -> tuple[str, ...]:
    """Memories about nobody in particular that the week's keywords bring up, each cut to 400 characters.

    Freshness counts from the run's first start, so a run taken up again is asked with the same words, unless
    what they mean was known only once.
    """
    words = keywords(_newest_chars(entries), MAX_KEYWORDS) if limit else []
    if not words:
        return ()
    meaning = meanings.of(" ".join(words), meanings.PATIENT_S)
    found = memories.recall(run.agent, words, about=None, limit=limit, at=run.started_at, meaning=meaning)
    return tuple(one.memory.text[:MEMORY_CHARS] for one in found)


def anchor(run: GrowthRun, zone: str) -> datetime:
    """The instant whose local date is the first day not looked at."""
    if run.intended_on is None:
        return run.created_at
    return rules.instant_of(run.intended_on, time(12), zone)


def _is_echo(row: DiaryEntry, current: GrowthState | None) -> bool:
    """True for an entry that only quotes the current reflection back: it proves nothing about the week.

    What was written down before the reflection is no echo of it: the reflection quotes the diary.
    """
    if current is None or row.created_at < current.created_at:
        return False
    bare = row.content.strip()
    return len(bare) >= ECHO_CHARS and bare in current.content


def _newest_chars(entries: Sequence[Entry]) -> list[str]:
    """Texts of the entries, newest first, up to a size that keeps keyword finding fast."""
    texts: list[str] = []
    left = KEYWORD_CHARS
    for entry in reversed(entries):
        if left <= 0:
            break
        texts.append(entry.content[:left])
        left -= len(entry.content)
    return texts
