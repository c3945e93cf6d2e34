"""The demo agents as typed values, read from their JSON files; no Django, no clock.

A file holds one agent: `{slug, name, language, timezone, trainers, persona, likes, dislikes, memories,
diary}`. A diary line names its day as `days_ago` (1 is yesterday) and its local wall time as `at` (`HH:MM`),
so that the week before the seeding day is always full. All text is invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

FOLDER = Path(__file__).parent
FILES = ("wren.json", "minato.json")


@dataclass(frozen=True)
class Note:
    """One memory. `about` is the username of a demo person, or None."""

    name: str
    text: str
    kind: str
    tags: tuple[str, ...]
    about: str | None


@dataclass(frozen=True)
class Moment:
    """One diary entry, `days_ago` days before the seeding day at local wall time `at`."""

    days_ago: int
    at: time
    source: str
    people: tuple[str, ...]
    tags: tuple[str, ...]
    content: str


@dataclass(frozen=True)
class Story:
    """Everything the demo knows about one agent."""

    slug: str
    name: str
    language: str
    timezone: str
    persona: str
    likes: tuple[str, ...]
    dislikes: tuple[str, ...]
    trainers: tuple[str, ...]
    memories: tuple[Note, ...]
    diary: tuple[Moment, ...]

    def placed(self, today: date) -> Iterator[tuple[datetime, Moment]]:
        """Each moment with its UTC instant, oldest first, where `today` is the local date of seeding."""
        zone = ZoneInfo(self.timezone)
        for moment in self.diary:
            day = today - timedelta(days=moment.days_ago)
            yield datetime.combine(day, moment.at, tzinfo=zone).astimezone(UTC), moment


def read(path: Path) -> Story:
    """One agent's file as a Story; a missing or misspelt key raises KeyError or TypeError."""
    raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    raw |= {key: tuple(raw[key]) for key in ("likes", "dislikes", "trainers")}
    raw["memories"] = tuple(_note(line) for line in raw["memories"])
    raw["diary"] = tuple(_moment(line) for line in raw["diary"])
    return Story(**raw)


def stories() -> list[Story]:
    """The demo agents in the order they are seeded."""
    return [read(FOLDER / name) for name in FILES]


def _note(line: dict[str, Any]) -> Note:
    return Note(**(line | {"tags": tuple(line["tags"]), "about": line.get("about")}))


def _moment(line: dict[str, Any]) -> Moment:
    lists = {key: tuple(line[key]) for key in ("people", "tags")}
    return Moment(**(line | lists | {"at": time.fromisoformat(line["at"])}))
