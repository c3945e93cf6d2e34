"""A turn whose answer is being written, and its actions performed by hand: the loop without a model."""

from __future__ import annotations

from typing import Any

from django.utils.timezone import now

from synth import actions
from synth.models import Approval, Dialogue, Message, MessageStatus, Person
from synth.schemas import Caller
from synth.turns import Turn


def streaming(dialogue: Dialogue, **values: Any) -> Message:
    """The answer of a turn that waits."""
    return Message.objects.create(
        dialogue=dialogue, role="assistant", status=MessageStatus.STREAMING, attempt=1, **values
    )


def turn_in(dialogue: Dialogue, **values: Any) -> Turn:
    """A turn of the dialogue's person."""
    agent, person = dialogue.agent, dialogue.person
    is_trainer = agent.trainers.filter(pk=person.pk).exists()
    given = {"is_trainer": is_trainer, "is_operator": person.is_operator, **values}
    return Turn(agent, person, dialogue, None, now(), **given)


def ask(dialogue: Dialogue, name: str = "bell_ring", payload: Any = None, **values: Any) -> Any:
    """(answer, what performing it gave) in a new waiting turn."""
    call_id = values.pop("call_id", "call_1")
    answer = values.pop("answer", None) or streaming(dialogue)
    turn = turn_in(dialogue, **values)
    return answer, actions.perform(turn, name, payload, call_id=call_id, answer=answer)


def end(answer: Message, status: str = "complete") -> None:
    """The turn is over."""
    Message.objects.filter(pk=answer.pk).update(status=status)


def caller(person: Person, **values: Any) -> Caller:
    """That person in a browser."""
    return Caller(
        **{"person": person, "key": None, "is_operator": person.is_operator, "may_train": True, **values}
    )


def only() -> Approval:
    """The one question there is."""
    return Approval.objects.get()
