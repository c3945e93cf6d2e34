"""Which toolkit a dialogue is on: chosen by its person, or suggested after its first prompt and then taken.

A suggestion lies in the dialogue's metadata: `{"toolkit", "run", "is_shown"}`. One that is not shown (mode
audit) is only there to learn from what the person chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

import structlog
from django.db import transaction

from synth import faults, registries, toolkits
from synth.errors import Invalid
from synth.models import Agent, Dialogue, Message, MessageRole, Person, ToolkitOrigin
from synth.services import dialogues
from synth.turns import Turn

KEY = "toolkit_suggestion"
TAKEN, DECLINED = "taken", "declined"
MAX_PROMPT_CHARS = 2_000
log = structlog.get_logger(__name__)
faults.declare("toolkits.choose.before", "a toolkit is chosen, the transaction is still open")


class Suggester(Protocol):
    """What `registries.toolkit_suggesters` holds. Calling it asks, in the background, and returns at once.

    It answers later through `suggest`. `said` hears what the person made of its suggestion: `taken` or
    `declined`; database work only, in the transaction of the choice.
    """

    def __call__(self, dialogue: Dialogue, prompt: str, kits: dict[str, str]) -> None: ...

    def said(self, run: str, value: str, *, is_shown: bool) -> None: ...


def checked(name: str) -> str:
    """The name of a kit there is; Invalid `unknown_toolkit` names those there are."""
    if toolkits.get(name) is None:
        known = ", ".join(kit.name for kit in toolkits.registered())
        raise Invalid(
            f"There is no such toolkit; there are {known}.", field="toolkit", code="unknown_toolkit"
        )
    return name


def begin(
    agent: Agent, person: Person, *, toolkit: str = "", source: Dialogue | None = None, **values: Any
) -> Dialogue:
    """Begin a dialogue on a kit: the one chosen, else that of the dialogue it continues, else the default."""
    if toolkit:
        values |= {"toolkit": checked(toolkit), "toolkit_origin": ToolkitOrigin.CHOSEN}
    elif source is not None:
        values |= {"toolkit": source.toolkit, "toolkit_origin": ToolkitOrigin.INHERITED}
    return dialogues.create(agent, person, **values)


def choose(dialogue: Dialogue, name: str) -> Dialogue:
    """The person's choice, from the next turn on. It settles a suggestion: taken when it is that kit.

    Safe to repeat. Invalid `unknown_toolkit`; Conflict `dialogue_gone`.
    """
    checked(name)
    with transaction.atomic():
        row = dialogues.lock(dialogue.pk)
        hint = row.metadata.get(KEY)
        if row.toolkit == name and row.toolkit_origin != ToolkitOrigin.DEFAULT and not hint:
            return row
        is_taken = bool(hint) and hint["toolkit"] == name
        row.toolkit = name
        is_suggested = is_taken and hint["is_shown"]
        row.toolkit_origin = ToolkitOrigin.SUGGESTED if is_suggested else ToolkitOrigin.CHOSEN
        row.metadata = {key: value for key, value in row.metadata.items() if key != KEY}
        row.save(update_fields=["toolkit", "toolkit_origin", "metadata"])
        if hint:
            _say(hint, TAKEN if is_taken else DECLINED)
        faults.point("toolkits.choose.before")
    return row


def suggest(dialogue_id: str, name: str, run: str, *, is_shown: bool) -> bool:
    """Keep a suggestion with the dialogue; False where it comes too late or suggests nothing new.

    Part of the caller's transaction. Only a dialogue still on the default kit is suggested one, once.
    """
    with transaction.atomic():
        rows = Dialogue.objects.select_for_update(of=("self",))
        row = rows.filter(pk=dialogue_id, toolkit_origin=ToolkitOrigin.DEFAULT, is_scratch=False).first()
        if row is None or KEY in row.metadata or name == row.toolkit or toolkits.get(name) is None:
            return False
        row.metadata = {**row.metadata, KEY: {"toolkit": name, "run": run, "is_shown": is_shown}}
        row.save(update_fields=["metadata"])
    return True


def suggested(dialogue: Dialogue) -> str | None:
    """The kit that is suggested to the person now, or None."""
    hint = dialogue.metadata.get(KEY)
    return hint["toolkit"] if hint and hint["is_shown"] else None


def look(turn: Turn, answer: Message) -> None:
    """Observer of turns: after a dialogue's first prompt, ask which kit fits it."""
    dialogue, said = turn.dialogue, turn.message
    if dialogue is None or said is None or turn.is_retake or dialogue.is_scratch:
        return
    if dialogue.toolkit_origin != ToolkitOrigin.DEFAULT:
        return
    earlier = Message.objects.filter(dialogue=dialogue, role=MessageRole.USER).exclude(pk=said.pk)
    if earlier.exists():
        return
    kits = {kit.name: kit.text for kit in toolkits.registered() if kit.name != toolkits.DEFAULT}
    for name, suggester in _suggesters():
        try:
            suggester(dialogue, said.content[:MAX_PROMPT_CHARS], kits)
        except Exception:  # noqa: BLE001 - a suggestion is no more than that
            log.exception("toolkit_suggester_failed", suggester=name)


def _suggesters() -> Iterator[tuple[str, Suggester]]:
    return ((name, cast(Suggester, entry)) for name, entry in registries.toolkit_suggesters.items())


def _say(hint: dict[str, Any], value: str) -> None:
    for name, suggester in _suggesters():
        try:
            with transaction.atomic():
                suggester.said(hint["run"], value, is_shown=hint["is_shown"])
        except Exception:  # noqa: BLE001 - the person's choice holds whatever is learnt from it
            log.exception("toolkit_choice_not_told", suggester=name)
