"""A model that asks for a reflection again and again in one turn gets one."""

from __future__ import annotations

import pytest
from django.utils import timezone

from growth.models import GrowthRun
from growth.tests.proposals.desk import chat_with
from synth import actions
from synth.turns import Turn

pytestmark = pytest.mark.django_db


def turn_of(dialogue, person):
    message = dialogue.messages.create(role="user", content="Reflect, please.", author=person)
    return Turn(dialogue.agent, person, dialogue, message, timezone.now(), is_trainer=True)


def test_one_turn_queues_one_reflection_even_when_it_has_ended(agent, trainer):
    turn = turn_of(chat_with(agent, trainer), trainer)
    first = actions.perform(turn, "run_self_growth", {})
    GrowthRun.objects.update(status="skipped")
    second = actions.perform(turn, "run_self_growth", {"dry_run": True})
    assert GrowthRun.objects.count() == 1 and second.data == first.data
    assert "Already queued in this turn" in second.text


def test_the_next_turn_may_ask_again(agent, trainer):
    dialogue = chat_with(agent, trainer)
    for _ in range(2):
        assert actions.perform(turn_of(dialogue, trainer), "run_self_growth", {}).is_ok
        GrowthRun.objects.update(status="skipped")
    assert GrowthRun.objects.count() == 2
