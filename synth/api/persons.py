"""Turns usernames in a body into persons."""

from __future__ import annotations

from collections.abc import Iterable

from synth import selectors
from synth.errors import Refused
from synth.models import Person


def named_persons(usernames: Iterable[str], field: str) -> list[Person]:
    """The persons of these usernames in order; Refused `person_not_found` names the first unknown one."""
    return [named_person(username, field) for username in dict.fromkeys(usernames)]


def named_person(username: str, field: str) -> Person:
    """The person of that username; Refused `person_not_found` otherwise."""
    person = None if "\x00" in username else selectors.person_by_username(username)
    if person is None:
        raise Refused(f"There is no person named {username[:150]}.", code="person_not_found", field=field)
    return person
