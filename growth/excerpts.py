"""What of a diary fits: the newest days whole within a budget, and concrete lines spread over the days."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from growth.moments import Entry, Moment, moments

__all__ = ["Budgeted", "Entry", "Excerpt", "budget", "excerpts"]

MAX_EXCERPTS = 8


@dataclass(frozen=True, slots=True)
class Budgeted:
    """Entries that fit, oldest first, and what did not: whole entries, and characters cut or left out."""

    kept: tuple[Entry, ...]
    n_left_out: int
    chars_left_out: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One verbatim line of an entry."""

    entry_id: int
    on: date
    text: str


def budget(entries: Iterable[Entry], max_chars: int) -> Budgeted:
    """The newest days of `entries` (oldest first) that fit whole into `max_chars` characters of content.

    The first day that doesn't fit ends the list, so no day in between is missing. When not even the newest
    day fits, its newest entries are kept and the one that overflows is cut at its end.
    """
    everything = list(entries)
    days: dict[date, list[Entry]] = {}
    for entry in everything:
        days.setdefault(entry.on, []).append(entry)
    kept: list[Entry] = []
    room = max_chars
    for on in sorted(days, reverse=True):
        size = sum(len(entry.content) for entry in days[on])
        if size > room:
            if not kept:
                kept = _newest_of_day(days[on], room)
            break
        kept = days[on] + kept
        room -= size
    total = sum(len(entry.content) for entry in everything)
    used = sum(len(entry.content) for entry in kept)
    return Budgeted(tuple(kept), len(everything) - len(kept), total - used)


def excerpts(entries: Iterable[Entry], limit: int = MAX_EXCERPTS) -> list[Excerpt]:
    """At most `limit` concrete lines, oldest first, taken in turns from the days so that none dominates."""
    days: dict[date, list[Moment]] = {}
    for moment in moments(entries):
        days.setdefault(moment.on, []).append(moment)
    ranked = {on: sorted(found, key=lambda m: -m.score) for on, found in days.items()}
    # Where there are more days than places, the days with the strongest lines come first.
    order = sorted(ranked, key=lambda on: (-ranked[on][0].score, on))
    depth = max((len(found) for found in ranked.values()), default=0)
    turns = [ranked[on][n] for n in range(depth) for on in order if n < len(ranked[on])]
    chosen = sorted(turns[: max(limit, 0)], key=lambda m: (m.on, m.entry_id))
    return [Excerpt(moment.entry_id, moment.on, moment.text) for moment in chosen]


def _newest_of_day(day: Sequence[Entry], room: int) -> list[Entry]:
    kept: list[Entry] = []
    for entry in reversed(day):
        if room <= 0:
            break
        fitting = entry if len(entry.content) <= room else replace(entry, content=entry.content[:room])
        kept.insert(0, fitting)
        room -= len(fitting.content)
    return kept
