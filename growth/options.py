"""The growth settings an environment variable may set for all agents; read at each use, never kept."""

from __future__ import annotations

from growth.clock import WEEKDAYS
from synth.options import Option, declare

MODE = Option(
    "GROWTH_MODE",
    "choice",
    "on",
    "What a finished reflection does: nothing, is applied, asks a trainer.",
    app="growth",
    choices=("off", "on", "request"),
    per_agent=True,
)
WEEKLY_DAY = Option(
    "GROWTH_WEEKLY_DAY",
    "choice",
    "sunday",
    "Full English weekday of the reflection, in the agent's zone.",
    app="growth",
    choices=WEEKDAYS,
    per_agent=True,
)
WEEKLY_TIME = Option(
    "GROWTH_WEEKLY_TIME",
    "text",
    "03:00",
    "Local wall time of the reflection, HH:MM from 00:00 to 23:59.",
    app="growth",
    per_agent=True,
)
REQUEST_INTERFACE_PATH = Option(
    "GROWTH_REQUEST_INTERFACE_PATH",
    "text",
    "",
    "Where proposals go in mode request.",
    app="growth",
    per_agent=True,
)
TRAINER_CHAT_ID = Option(
    "TRAINER_CHAT_ID",
    "text",
    "",
    "Where proposals go when no request interface path is set.",
    app="growth",
    per_agent=True,
)
DIARY_DAYS = Option(
    "GROWTH_DIARY_DAYS",
    "int",
    7,
    "Whole local days of diary a reflection looks back on, today excluded.",
    app="growth",
    minimum=1,
    maximum=60,
    per_agent=True,
)
MEMORY_LIMIT = Option(
    "GROWTH_MEMORY_LIMIT",
    "int",
    8,
    "Most long-term memories recalled for a reflection.",
    app="growth",
    minimum=0,
    maximum=50,
    per_agent=True,
)
PROPOSAL_TTL_DAYS = Option(
    "GROWTH_PROPOSAL_TTL_DAYS",
    "int",
    14,
    "Days after which an undecided proposal expires; 0: never.",
    app="growth",
    minimum=0,
    maximum=3650,
    per_agent=True,
)
FILLER_MARKERS = Option(
    "GROWTH_FILLER_MARKERS",
    "list",
    [],
    "More phrases that mark a reflection as filler, comma-separated.",
    app="growth",
)

declare(
    MODE,
    WEEKLY_DAY,
    WEEKLY_TIME,
    REQUEST_INTERFACE_PATH,
    TRAINER_CHAT_ID,
    DIARY_DAYS,
    MEMORY_LIMIT,
    PROPOSAL_TTL_DAYS,
    FILLER_MARKERS,
)

DAY_NAMES = tuple(day.title() for day in WEEKDAYS)

# Field of an agent's settings row → the variable that overrides it.
FIELDS: dict[str, Option] = {
    "mode": MODE,
    "weekly_day": WEEKLY_DAY,
    "weekly_time": WEEKLY_TIME,
    "request_interface_path": REQUEST_INTERFACE_PATH,
    "trainer_chat_id": TRAINER_CHAT_ID,
    "diary_days": DIARY_DAYS,
    "memory_limit": MEMORY_LIMIT,
    "proposal_ttl_days": PROPOSAL_TTL_DAYS,
}
