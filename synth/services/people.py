"""Persons: made, changed, archived, given power and stripped of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.timezone import now

from synth.errors import Conflict, Invalid, Refused
from synth.models import Door, Person
from synth.services import audit, fields

TRAINERS_GROUP = "trainers"
MAX_USERNAME_CHARS = 150


def _flag_or_none(value: object, field: str) -> bool | None:
    return None if value is None else fields.flag(value, field)


def _instant_or_none(value: object, field: str) -> Any:
    return None if value is None else fields.instant(value, field)


def _email(value: object, field: str) -> str:
    address = fields.one_line(value, field, max_chars=254)
    try:
        if address:
            validate_email(address)
    except ValidationError:
        raise Invalid("An e-mail address is needed.", field=field) from None
    return address


CHECKS: dict[str, Callable[[object, str], Any]] = {
    "timezone": fields.zone,
    "language": fields.language,
    "country": fields.country,
    "quiet_hours": fields.quiet_hours,
    "has_proactive_consent": fields.flag,
    "has_gift_memory_consent": _flag_or_none,
    "is_minor": fields.flag,
    "crisis_until": _instant_or_none,
    "email": _email,
    "first_name": lambda value, field: fields.one_line(value, field, max_chars=150),
    "last_name": lambda value, field: fields.one_line(value, field, max_chars=150),
}


def check_username(value: object) -> str:
    """A login name Django accepts (letters, digits and @ . + - _), else Invalid."""
    name = fields.text(value, "username", max_chars=MAX_USERNAME_CHARS, is_blank_allowed=False)
    name = Person.normalize_username(name)
    try:
        Person.username_validator(name)
    except ValidationError:
        raise Invalid("Letters, digits and @ . + - _ only.", field="username") from None
    return name


def _checked(changes: Mapping[str, object]) -> dict[str, Any]:
    unknown = sorted(set(changes) - set(CHECKS))
    if unknown:
        raise Invalid("There is no such field.", field=unknown[0], code="unknown_field")
    return {name: CHECKS[name](value, name) for name, value in changes.items()}


def ensure(username: str, *, by: Person | None = None, door: str = Door.COMMAND, **profile: object) -> Person:
    """The person of that name, made if missing (without a password); `profile` is only used for a new one."""
    name = check_username(username)
    values = _checked(profile)
    with transaction.atomic():
        person, is_new = Person.objects.get_or_create(username=name, defaults=values)
        if is_new:
            person.set_unusable_password()
            person.save(update_fields=["password"])
            audit.record(
                by,
                door=door,
                action="person_create",
                object=f"synth.person:{person.pk}",
                after={"username": name},
            )
    return person


def update(person: Person, changes: Mapping[str, object], *, by: Person | None, door: str) -> Person:
    """Change the profile; only named fields change, unknown ones are refused."""
    values = _checked(changes)
    with transaction.atomic():
        row = Person.objects.select_for_update(of=("self",)).get(pk=person.pk)
        before = {name: getattr(row, name) for name in values if getattr(row, name) != values[name]}
        if not before:
            return row
        for name in before:
            setattr(row, name, values[name])
        row.save(update_fields=list(before))
        audit.record(
            by,
            door=door,
            action="person_update",
            object=f"synth.person:{row.pk}",
            before=_plain(before),
            after=_plain({name: values[name] for name in before}),
        )
    return row


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values as JSON can hold them."""
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in values.items()
    }


def archive(person: Person, *, by: Person | None, door: str) -> None:
    """Close the account: no login and no key opens anything. Conflict when already archived."""
    _move_archived(person, now(), by=by, door=door)


def unarchive(person: Person, *, by: Person | None, door: str) -> None:
    """Open an archived account again. Conflict when it is not archived."""
    _move_archived(person, None, by=by, door=door)


def _move_archived(person: Person, at: Any, *, by: Person | None, door: str) -> None:
    if at is not None and by is not None and by.pk == person.pk:
        raise Refused("Nobody archives their own account.", code="own_account")
    is_archiving = at is not None
    with transaction.atomic():
        seen = Person.objects.filter(pk=person.pk, archived_at__isnull=is_archiving)
        if not seen.update(archived_at=at, is_active=not is_archiving):
            raise Conflict(
                "The account is already archived." if is_archiving else "The account is not archived."
            )
        audit.record(
            by,
            door=door,
            action="person_archive" if is_archiving else "person_unarchive",
            object=f"synth.person:{person.pk}",
        )
    person.refresh_from_db()


def make_operator(person: Person, *, by: Person | None, door: str) -> Person:
    """Give every right on this server, the admin site included; nothing happens to one who has them."""
    with transaction.atomic():
        row = Person.objects.select_for_update(of=("self",)).get(pk=person.pk)
        if row.is_operator and row.is_staff and row.is_superuser:
            return row
        row.is_operator = row.is_staff = row.is_superuser = True
        row.save(update_fields=["is_operator", "is_staff", "is_superuser"])
        audit.record(
            by,
            door=door,
            action="person_make_operator",
            object=f"synth.person:{row.pk}",
            before={"is_operator": False},
            after={"is_operator": True},
        )
    return row


def remove_operator(person: Person, *, by: Person | None, door: str) -> Person:
    """Take an operator's rights away, leaving a trainer's. Refused for the last operator."""
    with transaction.atomic():
        # All operators are locked, so that two of them cannot take each other's rights away.
        operators = list(
            Person.objects.select_for_update().filter(is_operator=True, archived_at=None).order_by("pk")
        )
        if [row.pk for row in operators] == [person.pk]:
            raise Refused("The last operator stays.", code="last_operator")
        row = Person.objects.select_for_update().get(pk=person.pk)
        if not (row.is_operator or row.is_superuser):
            raise Conflict("This person is not an operator.", code="not_operator")
        row.is_operator = row.is_superuser = False
        row.is_staff = row.trained_agents.exists()
        row.save(update_fields=["is_operator", "is_superuser", "is_staff"])
        audit.record(by, door=door, action="person_remove_operator", object=row,
                     before={"is_operator": True}, after={"is_operator": False})  # fmt: skip
    return row


def sync_trainer_rights(people: Iterable[Person]) -> None:
    """Make staff and group membership follow `Agent.trainers`; call it in the transaction of the change."""
    group, _ = Group.objects.get_or_create(name=TRAINERS_GROUP)
    for person in sorted(people, key=lambda person: person.pk):
        row = Person.objects.select_for_update(of=("self",)).get(pk=person.pk)
        is_trainer = row.trained_agents.exists()
        if is_trainer:
            row.groups.add(group)
        else:
            row.groups.remove(group)
        is_staff = is_trainer or row.is_operator
        if row.is_staff != is_staff:
            row.is_staff = is_staff
            row.save(update_fields=["is_staff"])
