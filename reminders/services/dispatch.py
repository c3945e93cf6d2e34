"""The one door that reaches people: saves a delivery with the change it tells of; workers carry it.

Nothing is sent here. The row is committed with its sender's transaction, or neither is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, connection, transaction
from django.utils.timezone import now

from reminders import channels, paths
from reminders.models import Delivery, DeliveryKind
from synth import background, faults
from synth.errors import Invalid

if TYPE_CHECKING:
    from synth.models import Person

DELIVER = "reminders.deliver"
MAX_TITLE_CHARS = 200
MAX_BODY_CHARS = 100_000
MAX_KEY_CHARS = 200

faults.declare("reminders.send.saved", "a delivery not committed yet is undone with its sender's work")


def send(
    *,
    kind: str,
    title: str,
    body: str = "",
    metadata: dict[str, Any] | None = None,
    person: Person | None = None,
    interface_path: str | None = None,
    dedupe_key: str,
) -> Delivery:
    """Save a queued delivery to a person's inbox or to an interface path, and ring for it on commit.

    Exactly one of `person` and `interface_path`. A second call with the same `dedupe_key` gives the first
    one's row, also when both run at once; a blank key never repeats. `seq` is null until it is sent. Titles
    over 200 and bodies over 100,000 characters are cut.

    Raises Invalid with its field (`unknown_channel`, `bad_target`, `unknown_person`, `unknown_dialogue`,
    `webhook_refused`), RuntimeError outside a transaction.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("dispatch.send() outside a transaction")
    path, owner = _address(person, interface_path)
    if len(dedupe_key) > MAX_KEY_CHARS:
        raise Invalid(f"At most {MAX_KEY_CHARS} characters are allowed.", field="dedupe_key")
    at = now()
    row = Delivery(
        person=owner,
        channel=path.channel,
        interface_path=str(path),
        kind=_kind(kind),
        title=_held(" ".join(title.split()), MAX_TITLE_CHARS),
        body=_held(body, MAX_BODY_CHARS),
        metadata=metadata or {},
        dedupe_key=dedupe_key,
        at=at,
        moved_at=at,
        due_at=at,
    )
    saved = _save_once(row)
    background.ring(DELIVER, path.channel)
    faults.point("reminders.send.saved")
    return saved


def check_path(interface_path: str) -> None:
    """Invalid (see `send`) when a path could not be sent to; for settings that keep one for later."""
    _address(None, interface_path)


def _address(person: Person | None, interface_path: str | None) -> tuple[paths.Path, Person | None]:
    if (person is None) == (interface_path is None):
        raise ValueError("send() needs a person or an interface path, not both")
    if person is not None:
        return paths.Path("inbox", person.username), person
    path = paths.parse(interface_path)
    return path, channels.of(path).check(path)


def _kind(kind: str) -> DeliveryKind:
    try:
        return DeliveryKind(kind)
    except ValueError:
        raise Invalid(f"{kind!r} is no kind of delivery.", field="kind") from None


def _held(text: str, max_chars: int) -> str:
    """The text as PostgreSQL and UTF-8 can hold it, cut with an ellipsis."""
    clean = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return clean if len(clean) <= max_chars else clean[: max_chars - 1] + "…"


def _save_once(row: Delivery) -> Delivery:
    """The saved row, or the one that has its key. A twin being written is waited for at the unique index."""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        earlier = Delivery.objects.filter(dedupe_key=row.dedupe_key).exclude(dedupe_key="").first()
        if earlier is None:
            raise
        return earlier
    return row
