"""Actions are declared strictly, offered to those who may cause them, and refused to everybody else."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pydantic import BaseModel

from synth import actions, toolkits
from synth.actions import Action, Outcome
from synth.models import AuditEntry
from synth.services import agents, dialogues
from synth.turns import Turn


class Loose(BaseModel):
    """Lets extra keys through."""


def turn_of(agent, person=None, **values):
    return Turn(agent, person, None, None, timezone.now(), **values)


@pytest.mark.parametrize(
    "values",
    [
        {"name": "Bell"},
        {"name": "bell-ring"},
        {"name": ""},
        {"arguments": Loose},
        {"risk": "dangerous"},
        {"who": "nobody"},
    ],
)
def test_a_loosely_declared_action_is_a_programming_error(values):
    with pytest.raises(ValueError):
        Action(**{"name": "bell_ring", "description": "", "handler": lambda turn, a: Outcome(""), **values})


def test_a_name_is_taken_once(add):
    add()
    with pytest.raises(ValueError, match="twice"):
        add()


def test_only_what_may_be_caused_is_offered(agent, trainer, person, add):
    add("for_all")
    add("for_trainers", who="trainer")
    add("for_operators", who="operator")
    add("risky", risk="needs_approval")
    add("hidden", offer=lambda turn: False)
    add("broken", offer=lambda turn: 1 / 0)

    def names(turn):
        found = {tool["function"]["name"] for tool in actions.offered(turn)}
        return found & {"for_all", "for_trainers", "for_operators", "risky", "hidden", "broken"}

    assert names(turn_of(agent, person)) == {"for_all"}
    assert names(turn_of(agent, trainer, is_trainer=True)) == {"for_all", "for_trainers"}
    assert names(turn_of(agent, person, is_operator=True)) == {"for_all", "for_operators"}
    assert names(turn_of(agent, is_trainer=True, is_operator=True)) == {"for_all"}


def test_a_background_turn_may_do_only_what_anyone_may(agent, add):
    allowed, refused = add("for_all"), add("for_trainers", who="trainer")
    turn = turn_of(agent, is_trainer=True)
    assert actions.perform(turn, "for_all", {}).is_ok and len(allowed) == 1
    outcome = actions.perform(turn, "for_trainers", {})
    assert (outcome.code, outcome.is_ok, len(refused)) == ("not_allowed", False, 0)
    entry = AuditEntry.objects.get(outcome="refused")
    assert (entry.actor, entry.actor_label, entry.object) == (
        None,
        "background turn",
        f"synth.agent:{agent.pk}",
    )


def test_who_stopped_being_a_trainer_in_the_middle_of_a_turn_is_refused(agent, trainer, add):
    rung = add(who="trainer")
    turn = turn_of(agent, trainer, is_trainer=True)
    assert actions.perform(turn, "bell_ring", {}).is_ok
    agents.update(agent, {"trainers": []}, by=None, door="command")
    assert actions.perform(turn, "bell_ring", {}).code == "not_allowed" and len(rung) == 1


def test_needs_approval_is_refused_for_now(agent, person, add):
    rung = add(risk="needs_approval")
    assert actions.perform(turn_of(agent, person), "bell_ring", {}).code == "needs_approval" and not rung


def test_a_name_of_any_kind_is_refused_and_audited(agent, person):
    for name in ("", "drop table", "x" * 500, "bell_ring\x00"):
        assert actions.perform(turn_of(agent, person), name, None).code == "unknown_action"
    assert AuditEntry.objects.filter(outcome="refused", reason="unknown_action").count() == 4


def test_missing_arguments_count_as_none_given(agent, person, add):
    rung = add()
    assert actions.perform(turn_of(agent, person), "bell_ring", None).is_ok and rung[0].times == 1


def test_what_is_not_in_the_dialogues_kit_is_neither_offered_nor_done(agent, person, add):
    rung, tool = add(), add("saw_use", toolkits=frozenset({"test_shed"}))
    toolkits.register(toolkits.Toolkit("test_shed", "Tools.", frozenset({"lamp_dim"})))
    try:
        turn = turn_of(agent, person)
        turn.dialogue = dialogues.create(agent, person)
        assert "bell_ring" in {a.name for a in actions.available(turn)}
        assert actions.perform(turn, "saw_use", None).code == "unknown_action"
        turn.dialogue.toolkit = "test_shed"
        assert {a.name for a in actions.available(turn)} == {"saw_use"}
        outcome = actions.perform(turn, "bell_ring", None)
        assert outcome.code == "unknown_action" and "saw_use" in outcome.text
        assert actions.perform(turn, "saw_use", None).is_ok and (len(rung), len(tool)) == (0, 1)
        turn.dialogue.toolkit = "gone"
        assert actions.perform(turn, "saw_use", None).code == "unknown_action"
    finally:
        toolkits.unregister("test_shed")
