"""Whoever opened a stream is looked at again while it is open: a key revoked or a login over ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import structlog
from django.contrib.sessions.backends.base import SessionBase
from django.db import DatabaseError
from django.utils.timezone import now

from synth.models import ApiKey, Person
from synth.net.aside import aside

EVERY_S = 15.0
log = structlog.get_logger(__name__)
Who = dict[str, Any]
_open: dict[int, tuple[Who, Callable[[], None]]] = {}
_looking: list[asyncio.Task[None]] = []


def watch(who: Who, end: Callable[[], None]) -> int:
    """Call `end` within 30 s of `who` no longer holding; the number is for `forget`."""
    number = id(end)
    _open[number] = (who, end)
    if not _looking or _looking[0].done():
        _looking[:] = [asyncio.create_task(_look(), name="credentials")]
    return number


def forget(number: int) -> None:
    """The stream is over."""
    _open.pop(number, None)


async def _look() -> None:
    while _open:
        await asyncio.sleep(EVERY_S)
        seen = dict(_open)
        try:
            holding = await aside(holds, [who for who, _ in seen.values()])
        except DatabaseError as error:
            log.warning("credentials_not_read", error=str(error))
            continue
        for (number, (_, end)), is_good in zip(seen.items(), holding, strict=True):
            if not is_good and number in _open:
                end()


def holds(all_who: Iterable[Who]) -> list[bool]:
    """Whether each still holds: a living person, and their key unrevoked or their login not over."""
    asked = list(all_who)
    living = Person.objects.filter(archived_at=None, is_active=True).only("pk", "password")
    persons = living.in_bulk({who["person"] for who in asked})
    key_ids = {who["key"] for who in asked if "key" in who}
    alive = ApiKey.objects.filter(
        pk__in=key_ids, revoked_at=None, person__archived_at=None, person__is_active=True
    )
    keys = set(alive.values_list("pk", flat=True)) if key_ids else set()
    sessions = _sessions({who["session"] for who in asked if who.get("session")})
    return [_holds(who, persons, keys, sessions) for who in asked]


def _holds(who: Who, persons: dict[int, Person], keys: set[int], sessions: set[str]) -> bool:
    person = persons.get(who["person"])
    if person is None:
        return False
    if "key" in who:
        return who["key"] in keys
    if who["hash"] != person.get_session_auth_hash():
        return False
    return not who.get("session") or who["session"] in sessions


def _sessions(keys: set[str]) -> set[str]:
    """Those of the sessions that have not ended."""
    if not keys:
        return set()
    from importlib import import_module

    from django.conf import settings

    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    model = store.get_model_class()  # type: ignore[attr-defined]
    found = model.objects.filter(session_key__in=keys, expire_date__gt=now())
    return set(found.values_list("session_key", flat=True))
