"""A dialogue: the delivery becomes a message of the agent that answers no question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reminders.channels.base import Local, Undelivered
from reminders.paths import FIELD, Path
from synth.errors import DomainError, Invalid
from synth.selectors import dialogue_by_id

if TYPE_CHECKING:
    from reminders.models import Delivery
    from synth.models import Person


def check(path: Path) -> Person:
    """The person of that dialogue; Invalid `unknown_dialogue` otherwise."""
    dialogue = dialogue_by_id(path.target)
    if dialogue is None:
        raise Invalid("There is no such dialogue.", field=FIELD, code="unknown_dialogue")
    return dialogue.person


def place(row: Delivery, path: Path) -> None:
    """Add the message; its metadata names the delivery, and what the sender gave along."""
    from synth.services import dialogues

    dialogue = dialogue_by_id(path.target)
    if dialogue is None:
        raise Undelivered("the dialogue is gone", max_tries=1)
    content = (f"{row.title}\n\n{row.body}" if row.body else row.title)[: dialogues.MAX_CONTENT_CHARS]
    metadata = {**row.metadata, "delivery": row.pk, "kind": row.kind}
    try:
        dialogues.attach_proactive_node(dialogue, content, metadata, dedupe=f"delivery:{row.pk}")
    except DomainError as error:
        raise Undelivered(f"the dialogue takes no message: {error.code}", max_tries=3) from None


CHANNEL = Local("dialogue", check, place)
