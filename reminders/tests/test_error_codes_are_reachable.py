"""Every error code of reminders stands in the one table, and each can really be had."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reminders.codes import CODES
from reminders.models import Delivery, DeliveryStatus
from reminders.services import carrying, dispatch, inbox
from synth.errors import DomainError
from synth.testing import errors_raised

REMINDERS = Path(__file__).resolve().parents[1]
# A delivery has a number once it is sent; from then on it can only be in one of these.
ENDS = {status for status in DeliveryStatus.values if status not in {"queued", "sent", "failed"}}
pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_raised_stands_in_the_table_and_nothing_else_does():
    raised = errors_raised.codes(REMINDERS) - {f"already_{errors_raised.HOLE}"}
    assert raised | {f"already_{status}" for status in ENDS} == set(CODES)


def test_messages_and_explanations_are_sentences():
    said = [text for _, text in errors_raised.messages(REMINDERS)]
    assert said and [text for text in (*said, *CODES.values()) if not errors_raised.is_sentence(text)] == []


def moved(pia: Any, send: Any, status: str) -> None:
    """Somebody, or the clock, moved a delivery before the person dismisses it."""
    row = send(person=pia)
    carrying.drain_all()
    Delivery.objects.filter(pk=row.pk).update(status=status)
    row.refresh_from_db()
    inbox.move(pia, row.seq, DeliveryStatus.SEEN)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"already_{status}": partial(moved, status=status) for status in ENDS},
    "bad_target": lambda pia, send: dispatch.check_path("dialogue/never"),
    "delivery_not_found": lambda pia, send: inbox.move(pia, 7, DeliveryStatus.SEEN),
    "not_failed": lambda pia, send: inbox.try_again(send(person=pia).pk, by=pia),
    "unknown_channel": lambda pia, send: dispatch.check_path("pigeon/12"),
    "unknown_dialogue": lambda pia, send: dispatch.check_path(f"dialogue/{uuid4()}"),
    "unknown_person": lambda pia, send: dispatch.check_path("inbox/nobody"),
    "webhook_refused": lambda pia, send: dispatch.check_path("webhook/http://host.example/hook"),
}


@pytest.mark.parametrize("code", CODES)
def test_every_way_leads_to_its_code(pia, send, code):
    with pytest.raises(DomainError) as caught:
        WAYS[code](pia, send)
    assert caught.value.code == code
