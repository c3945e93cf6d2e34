"""What a dead worker left is failed by the next one as it starts, and while it listens; no tick is needed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now

from synth.models import Message
from synth.services import dialogues
from synth.tests.chat.asking import streaming
from synth.tests.chat.running import listening, told, until

pytestmark = pytest.mark.django_db(transaction=True)


def status(answer):
    return Message.objects.filter(pk=answer.pk).values_list("status", flat=True).get()


def cut(dialogue, **values):
    return streaming(dialogue, content="Half of", lease_until=now() - timedelta(seconds=1), **values)


def test_at_the_start_at_once(dialogue):
    answer = cut(dialogue)
    with listening(look_s=3):
        until(lambda: status(answer) == "failed")
    answer.refresh_from_db()
    assert (answer.content, answer.metadata["reason"]) == ("Half of", "crashed")
    assert until(lambda: told(answer))[-1].is_terminal
    dialogues.archive(dialogue)


def test_while_it_listens(dialogue):
    with listening(look_s=0.2):
        for _ in range(2):
            answer = cut(dialogue)
            until(lambda: status(answer) == "failed")  # noqa: B023 - called at once


def test_a_living_ones_turn_is_left_alone(dialogue, trainers_dialogue):
    living = streaming(dialogue, lease_until=now() + timedelta(seconds=60))
    dead = cut(trainers_dialogue)
    with listening(look_s=3):
        until(lambda: status(dead) == "failed")
    assert status(living) == "streaming"
