"""Checked values from people's input: a clean value, or `Invalid` naming the field."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from importlib import resources

from synth.errors import Invalid

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
WALL_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_ITEMS = 200
MAX_ITEM_CHARS = 200


def text(value: object, field: str, *, max_chars: int, is_blank_allowed: bool = True) -> str:
    """A string PostgreSQL can hold: no NUL, no half of a surrogate pair, at most `max_chars` characters."""
    if not isinstance(value, str):
        raise Invalid("A text is needed.", field=field)
    if "\x00" in value:
        raise Invalid("NUL characters are not allowed.", field=field, code="nul_character")
    if SURROGATE.search(value):
        raise Invalid("Lone surrogates are not allowed.", field=field, code="lone_surrogate")
    if len(value) > max_chars:
        raise Invalid(f"At most {max_chars} characters are allowed.", field=field, code="too_long")
    if not is_blank_allowed and not value.strip():
        raise Invalid("This may not be blank.", field=field, code="blank")
    return value


def one_line(value: object, field: str, *, max_chars: int, is_blank_allowed: bool = True) -> str:
    """A text on one line, trimmed, runs of white space made one space."""
    cleaned = text(value, field, max_chars=max_chars * 4, is_blank_allowed=is_blank_allowed)
    return text(" ".join(cleaned.split()), field, max_chars=max_chars)


def items(value: object, field: str) -> list[str]:
    """A list of short texts: trimmed, blanks dropped, one of each ignoring case, in the order given."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise Invalid("A list of texts is needed.", field=field)
    found: dict[str, str] = {}
    for item in value:
        cleaned = one_line(item, field, max_chars=MAX_ITEM_CHARS)
        if cleaned:
            found.setdefault(cleaned.casefold(), cleaned)
    if len(found) > MAX_ITEMS:
        raise Invalid(f"At most {MAX_ITEMS} items are allowed.", field=field, code="too_long")
    return list(found.values())


def flag(value: object, field: str) -> bool:
    """True or false, nothing that looks like one."""
    if not isinstance(value, bool):
        raise Invalid("True or false is needed.", field=field)
    return value


@cache
def zones() -> frozenset[str]:
    """Every IANA zone name this Python knows."""
    return frozenset(zoneinfo.available_timezones()) - {"localtime", "Factory"}


@cache
def countries() -> frozenset[str]:
    """Every ISO 3166-1 alpha-2 code, as listed by the time zone database."""
    lines = (resources.files("tzdata.zoneinfo") / "iso3166.tab").read_text("utf-8").splitlines()
    return frozenset(line[:2] for line in lines if line and not line.startswith("#"))


def zone(value: object, field: str = "timezone") -> str:
    """An IANA zone name, spelled as the database spells it."""
    name = text(value, field, max_chars=64).strip()
    if name not in zones():
        raise Invalid(
            "An IANA time zone is needed, for example Europe/Rome.", field=field, code="unknown_timezone"
        )
    return name


def language(value: object, field: str = "language") -> str:
    """A BCP 47 tag of at most 16 characters."""
    tag = text(value, field, max_chars=16).strip()
    if not LANGUAGE.fullmatch(tag):
        raise Invalid(
            "A BCP 47 language tag is needed, for example pt-BR.", field=field, code="unknown_language"
        )
    return tag


def country(value: object, field: str = "country") -> str:
    """An ISO 3166-1 alpha-2 code in capitals; an empty text means unknown."""
    code = text(value, field, max_chars=16).strip().upper()
    if code and code not in countries():
        raise Invalid("A two-letter ISO 3166-1 code is needed.", field=field, code="unknown_country")
    return code


def quiet_hours(value: object, field: str = "quiet_hours") -> dict[str, str] | None:
    """`{"start": "22:00", "end": "07:00"}` in the person's wall time, or None for no quiet hours."""
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"start", "end"}:
        raise Invalid('An object {"start": "HH:MM", "end": "HH:MM"} or null is needed.', field=field)
    for edge in ("start", "end"):
        if not isinstance(value[edge], str) or not WALL_TIME.fullmatch(value[edge]):
            raise Invalid(f"{edge} must be HH:MM, 00:00 to 23:59.", field=field)
    if value["start"] == value["end"]:
        raise Invalid("Start and end may not be the same.", field=field)
    return {"start": value["start"], "end": value["end"]}


def instant(value: object, field: str = "at") -> datetime:
    """An aware instant in UTC, from the year 1900 to 9998."""
    if not isinstance(value, datetime):
        raise Invalid("A time is needed.", field=field)
    if value.tzinfo is None or value.utcoffset() is None:
        raise Invalid("A time with an offset is needed, for example 2026-05-04T09:00:00+02:00.", field=field)
    # The first and last year of the calendar overflow when another zone is asked for.
    if not 1900 <= value.year <= 9998:
        raise Invalid("The year must be 1900 to 9998.", field=field)
    return value.astimezone(UTC)
