"""A person's inbox: the row itself is the delivery, and gets the next number of its person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection

from reminders.channels.base import Local, Undelivered
from reminders.paths import FIELD, Path
from reminders.services import bells
from synth.errors import Invalid
from synth.selectors import person_by_username

if TYPE_CHECKING:
    from reminders.models import Delivery
    from synth.models import Person


def check(path: Path) -> Person:
    """The person of that name; Invalid `unknown_person` otherwise."""
    person = None if "\x00" in path.target else person_by_username(path.target)
    if person is None:
        raise Invalid(f"There is no person {path.target[:150]}.", field=FIELD, code="unknown_person")
    return person


def place(row: Delivery, path: Path) -> None:
    """Number the row. The counter's lock is taken last and lives until the commit, so numbers are visible in
    order and a rollback gives its number back.
    """
    if row.person_id is None:
        raise Undelivered("the inbox has no owner any more", max_tries=1)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO reminders_inboxcounter AS c (person_id, seq) VALUES (%s, 1) "
            "ON CONFLICT (person_id) DO UPDATE SET seq = c.seq + 1 RETURNING seq",
            [row.person_id],
        )
        row.seq = cursor.fetchone()[0]
    type(row).objects.filter(pk=row.pk).update(seq=row.seq)
    bells.arrived(row.person_id, row.seq)


CHANNEL = Local("inbox", check, place)
