"""The growth settings of an agent as they hold right now: environment, else row, else default."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from growth import clock as rules
from growth.models import GrowthSettings
from growth.options import FIELDS, FILLER_MARKERS
from synth.options import BadOption

if TYPE_CHECKING:
    from synth.models import Agent

log = structlog.get_logger(__name__)
MAX_PATH_CHARS = 200
_warned: set[tuple[str, str, str]] = set()


@dataclass(frozen=True)
class EffectiveSettings:
    """What holds for one agent. `overridden_by_env` names fields; `problems` maps a field to what is wrong
    with the value found for it (its default, for `mode` off, holds instead)."""

    mode: str
    weekly_day: str
    weekly_time: str
    request_interface_path: str
    trainer_chat_id: str
    diary_days: int
    memory_limit: int
    proposal_ttl_days: int
    filler_markers: tuple[str, ...]
    overridden_by_env: list[str]
    problems: dict[str, str]


def parse(field: str, value: Any) -> Any:
    """The stored form of a setting; BadOption says what is allowed. Weekdays come out as `Sunday`."""
    option = FIELDS[field]
    if option.kind == "int":
        is_digits = isinstance(value, str) and value.strip().isascii() and value.strip().isdigit()
        if isinstance(value, bool) or not (isinstance(value, int) or is_digits):
            raise BadOption(f"{field}: a whole number is needed")
        return option.parse(str(value))
    if not isinstance(value, str) or "\x00" in value:
        raise BadOption(f"{field}: text is needed")
    text = str(option.parse(value))
    if field == "weekly_time":
        try:
            rules.parse_time(text)
        except ValueError as error:
            raise BadOption(f"{field}: {error}") from None
    if len(text) > MAX_PATH_CHARS:
        raise BadOption(f"{field}: at most {MAX_PATH_CHARS} characters")
    return text.title() if field == "weekly_day" else text


def row_of(agent: Agent) -> GrowthSettings:
    """The settings row of an agent, made with the defaults when there is none yet."""
    row, _ = GrowthSettings.objects.get_or_create(agent_id=agent.pk)
    return row


def effective(agent: Agent) -> EffectiveSettings:
    """What holds for this agent now. Unfit values found are reported once and replaced."""
    return effective_of(row_of(agent))


def effective_of(row: GrowthSettings) -> EffectiveSettings:
    """`effective` for a row at hand; reads only."""
    values: dict[str, Any] = {}
    overridden: list[str] = []
    problems: dict[str, str] = {}
    for field, option in FIELDS.items():
        raw = os.environ.get(option.name, "")
        is_env = raw.strip() != ""
        found = raw if is_env else getattr(row, field)
        if is_env:
            overridden.append(field)
        try:
            values[field] = parse(field, found)
        except BadOption as error:
            problems[field] = str(error)
            values[field] = "off" if field == "mode" else parse(field, option.default)
            _warn_once(option.name if is_env else f"row {row.agent_id}", field, str(found), str(error))
    markers = tuple(FILLER_MARKERS.read(os.environ))
    return EffectiveSettings(
        **values, filler_markers=markers, overridden_by_env=overridden, problems=problems
    )


def environment() -> tuple[str, ...]:
    """The raw values of every overriding variable: a change of this tuple means clocks must be recomputed."""
    return tuple(os.environ.get(option.name, "") for option in FIELDS.values())


def lock(agent: Agent) -> GrowthSettings:
    """The agent's settings row, locked until the transaction ends: growth's one lock per agent."""
    row_of(agent)
    locked = GrowthSettings.objects.select_for_update(of=("self",)).select_related("agent")
    return locked.get(agent_id=agent.pk)


def _warn_once(where: str, field: str, value: str, problem: str) -> None:
    """One warning per place and value in the life of a process."""
    key = (where, field, value)
    if key not in _warned:
        _warned.add(key)
        log.warning("growth_setting_ignored", where=where, field=field, problem=problem)
