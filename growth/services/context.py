"""What a cycle looks at: the week's diary within a budget, the memories it brings to mind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from growth import clock as rules
from growth.models import GrowthRun, GrowthState
from growth.services.effective import EffectiveSettings
from synth import selectors
from synth.services import memories
from synth.text.words import keywords

if TYPE_CHECKING:
    from synth.models import DiaryEntry

NO_EVIDENCE = frozenset({"recalled", "system"})
DIARY_BUDGET_CHARS = 24_000
MEMORY_CHARS = 400
MAX_KEYWORDS = 40
KEYWORD_CHARS = 60_000


@dataclass(frozen=True)
class Entry:
    """One diary entry as evidence. `on` is its local date, `when` its local date and time as text."""

    pk: int
    on: date
    when: str
    content: str


@dataclass(frozen=True)
class Context:
    """Everything a reflection may draw on. `entries` are oldest first; `content` is the current reflection."""

    entries: tuple[Entry, ...]
    n_left_out: int
    memories: tuple[str, ...]
    content: str
    first_on: date
    last_on: date


def build(run: GrowthRun, settings: EffectiveSettings) -> Context:
    """The context of a run. It looks back from the run's intended date, else from the local date it was made on,
    so a retry after midnight sees the same days."""
    agent = run.agent
    days = rules.window(anchor(run, agent.timezone), agent.timezone, settings.diary_days)
    found = [e for e in selectors.diary_between(agent, days.start, days.end) if e.source not in NO_EVIDENCE]
    current = GrowthState.objects.filter(agent_id=run.agent_id, is_current=True).first()
    content = current.content if current else ""
    entries = [_entry(e, agent.timezone) for e in found if not _is_echo(e.content, content)]
    kept = within_budget(entries)
    recalled: tuple[str, ...] = ()
    if kept and settings.memory_limit:
        words = keywords(_newest_chars(kept), MAX_KEYWORDS)
        scored = memories.recall(agent, words, about=None, limit=settings.memory_limit) if words else []
        recalled = tuple(s.memory.text[:MEMORY_CHARS] for s in scored)
    return Context(tuple(kept), len(entries) - len(kept), recalled, content, days.dates[0], days.dates[-1])


def anchor(run: GrowthRun, zone: str) -> datetime:
    """The instant whose local date is the first day not looked at."""
    if run.intended_on is None:
        return run.created_at
    return rules.instant_of(run.intended_on, time(12), zone)


def within_budget(entries: Sequence[Entry], budget_chars: int = DIARY_BUDGET_CHARS) -> list[Entry]:
    """The newest whole days that fit, oldest first. Of a newest day too long alone, its newest entries; an entry
    too long alone is cut and ends in `…`."""
    days: dict[date, list[Entry]] = {}
    for entry in entries:
        days.setdefault(entry.on, []).append(entry)
    kept: list[Entry] = []
    left = budget_chars
    for on in sorted(days, reverse=True):
        size = sum(len(entry.content) for entry in days[on])
        if size > left:
            if not kept:
                kept = _newest_entries(days[on], budget_chars)
            break
        kept = days[on] + kept
        left -= size
    return kept


def _newest_entries(day: Sequence[Entry], budget_chars: int) -> list[Entry]:
    kept: list[Entry] = []
    left = budget_chars
    for entry in reversed(day):
        if len(entry.content) > left:
            break
        kept.insert(0, entry)
        left -= len(entry.content)
    if not kept:
        last = day[-1]
        kept = [Entry(last.pk, last.on, last.when, last.content[: budget_chars - 1] + "…")]
    return kept


def _entry(entry: DiaryEntry, zone: str) -> Entry:
    local = entry.at.astimezone(ZoneInfo(zone))
    return Entry(entry.pk, local.date(), f"{local:%Y-%m-%d %H:%M}", entry.content)


def _is_echo(content: str, reflection: str) -> bool:
    """True for an entry that only quotes the current reflection back: it proves nothing about the week."""
    bare = content.strip()
    return len(bare) >= 40 and bare in reflection


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
