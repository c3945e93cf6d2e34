"""Looks at long turns: after so many actions a card asks the person whether to go on, and the turn goes on.

The card is one a turn, in `TurnState.check_in`, updated in place: `{n_calls, elapsed_s, mode, choices,
choice, by, at, is_applied, last_node, run}`. What the person chooses takes effect at the turn's next action.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast

import structlog
from django.db import transaction
from django.db.models.functions import Left
from django.utils.timezone import now

from synth import faults, registries, turn_options
from synth.chat import progress
from synth.chat.history import calls_of
from synth.errors import Conflict
from synth.models import Message, MessageRole, Person, TurnState
from synth.turns import Turn

if TYPE_CHECKING:
    from synth.chat.publishing import Publisher

NUDGE, KEEP_GOING, STOP = "nudge", "keep_going", "stop"
CHOICES = (NUDGE, KEEP_GOING, STOP)
TURN_STOPPED = "turn_stopped"
NUDGE_LINE = (
    "Check-in: {n} actions in this turn and no answer yet. Say now what you have found so far, and go on "
    "only with what brings you closer to what you were asked for."
)
log = structlog.get_logger(__name__)
faults.declare("check_ins.look.before", "a check-in is written, the transaction is still open")
faults.declare("check_ins.choose.before", "a person's choice is written, the transaction is still open")


class Watcher(Protocol):
    """What an entry of `registries.turn_observers` may have besides being called at a turn's end.

    `check_in` is told of each check-in and gives the name of what it asked, or None. `said` hears what came
    of it. Database work only, inside the transaction of the card.
    """

    def check_in(self, turn: Turn, state: dict[str, Any]) -> str | None: ...

    def said(self, run: str, value: str, *, by: str) -> None: ...


def look(turn: Turn, answer: Message, n_tool_calls: int, publisher: Publisher | None = None) -> str:
    """After each action: `""` to go on, `"stop"`, or a line that nudges the model. Waits for nobody.

    `n_tool_calls` counts the turn's actions so far. With a publisher the viewers are told of the card.
    """
    every = turn_options.read(turn_options.CHECK_IN_EVERY)
    held = TurnState.objects.filter(answer=answer.pk).values_list("check_in", flat=True).first()
    if held is None or not every:
        return ""
    n_calls = _counted(answer, n_tool_calls)
    if not _waits(held) and n_calls // every <= held.get("n_calls", 0) // every:
        return ""
    with transaction.atomic():
        row = TurnState.objects.select_for_update().filter(answer=answer.pk).first()
        if row is None:
            return ""
        word = _apply(row) if _waits(row.check_in) else _check_in(turn, row, n_calls)
        row.save(update_fields=["check_in"])
        faults.point("check_ins.look.before")
    if publisher is not None:
        publisher.check_in(**shown(row.check_in))
    return word


def choose(answer_id: int, choice: str, *, by: Person) -> dict[str, Any]:
    """The person's word on the card, which it gives back. Conflict `check_in_closed` when late or second."""
    with transaction.atomic():
        row = TurnState.objects.select_for_update().filter(answer=answer_id).first()
        card = row.check_in if row is not None else {}
        if row is None or not card.get("choices"):
            who = {"choice": card["choice"], "by": card["by"], "at": card["at"]} if card.get("choice") else {}
            raise Conflict("No check-in waits for an answer here.", code="check_in_closed", **who)
        card |= {"choices": [], "choice": choice, "by": by.username, "at": now().isoformat()}
        card["is_applied"] = False
        row.save(update_fields=["check_in"])
        _say(card, choice, by="user")
        faults.point("check_ins.choose.before")
    return card


def turn_stopped(answer_id: int) -> None:
    """Part of stopping a turn, before its state goes: with the card still open, that is its answer."""
    with transaction.atomic():
        row = TurnState.objects.select_for_update().filter(answer=answer_id).first()
        if row is not None and row.check_in.get("choices"):
            row.check_in |= {"choices": [], "choice": TURN_STOPPED, "by": "turn", "at": now().isoformat()}
            row.save(update_fields=["check_in"])
            _say(row.check_in, TURN_STOPPED, by="turn")


def shown(card: dict[str, Any]) -> dict[str, Any]:
    """The card as viewers are told of it."""
    return {name: card[name] for name in ("n_calls", "elapsed_s", "mode", "choices")}


def open_card(answer_id: int) -> dict[str, Any]:
    """The card of an answer as viewers are told of it, while it asks; empty otherwise."""
    card = TurnState.objects.filter(answer=answer_id).values_list("check_in", flat=True).first()
    return {"message_id": answer_id, **shown(card)} if card and card.get("choices") else {}


def _waits(card: dict[str, Any]) -> bool:
    """Whether a choice was made that the turn has not followed, nor its viewers heard of, yet."""
    return card.get("choice") in CHOICES and not card.get("is_applied")


def _apply(row: TurnState) -> str:
    row.check_in["is_applied"] = True
    choice = row.check_in["choice"]
    if choice == NUDGE:
        return NUDGE_LINE.format(n=row.check_in["n_calls"])
    return STOP if choice == STOP else ""


def _check_in(turn: Turn, row: TurnState, n_calls: int) -> str:
    """The card anew, and the question whether the turn still makes progress, which nobody acts on."""
    mode = turn_options.read(turn_options.CHECK_IN_MODE)
    elapsed_s = (now() - row.at).total_seconds()
    last, calls = _calls(row.answer, row.check_in.get("last_node", row.answer_id))
    asked = turn.message.content if turn.message else ""
    state = progress.state(asked, calls, n_calls=n_calls, elapsed_s=elapsed_s)
    row.check_in = {
        "n_calls": n_calls, "elapsed_s": round(elapsed_s, 1), "mode": mode,
        "choices": list(CHOICES) if mode == "ask" else [], "last_node": last, "run": _ask(turn, state),
    }  # fmt: skip
    return NUDGE_LINE.format(n=n_calls) if mode == "nudge" else ""


def _counted(answer: Message, n_tool_calls: int) -> int:
    """The turn's actions without those that are not counted."""
    ignored = turn_options.read(turn_options.CHECK_IN_IGNORE)
    if not ignored:
        return n_tool_calls
    nodes = _nodes(answer, answer.pk).filter(role=MessageRole.TOOL, metadata__action__in=ignored)
    n_ignored: int = nodes.count()
    return n_tool_calls - n_ignored


def _nodes(answer: Message, after: int) -> Any:
    """The nodes of the turn: only one runs in a dialogue, and its nodes are made after its answer's place."""
    return Message.objects.filter(dialogue=answer.dialogue_id, pk__gt=after)


def _calls(answer: Message, after: int) -> tuple[int, list[tuple[str, str, str]]]:
    """The newest node, and (action, arguments, result) of the actions that count since node `after`."""
    ignored = set(turn_options.read(turn_options.CHECK_IN_IGNORE))
    rows = _nodes(answer, answer.pk).annotate(start=Left("content", 500)).order_by("pk")
    last, calls, asked = after, [], dict[str, str]()
    for pk, role, start, metadata in rows.values_list("pk", "role", "start", "metadata"):
        if role == MessageRole.ASSISTANT:
            asked = {call.id: call.arguments[:500] for call in calls_of(metadata)}
        elif role == MessageRole.TOOL and pk > after and metadata.get("action") not in ignored:
            calls.append((metadata.get("action", ""), asked.get(metadata.get("call_id", ""), ""), start))
        last = max(last, pk)
    return last, calls


def _ask(turn: Turn, state: dict[str, Any]) -> str:
    for name, watcher in _watchers():
        try:
            with transaction.atomic():
                if run := watcher.check_in(turn, state):
                    return run
        except Exception:  # noqa: BLE001 - a turn goes on whatever an app makes of it
            log.exception("check_in_not_asked", watcher=name)
    return ""


def _say(card: dict[str, Any], value: str, *, by: str) -> None:
    for name, watcher in _watchers() if card.get("run") else ():
        try:
            with transaction.atomic():
                watcher.said(card["run"], value, by=by)
        except Exception:  # noqa: BLE001 - the choice holds whatever is learnt from it
            log.exception("check_in_not_told", watcher=name)


def _watchers() -> Iterator[tuple[str, Watcher]]:
    entries = registries.turn_observers.items()
    return ((name, cast(Watcher, entry)) for name, entry in entries if hasattr(entry, "check_in"))
