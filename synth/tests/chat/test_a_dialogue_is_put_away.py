"""A dialogue is put away only when nothing goes on in it, and what is said in it brings it back."""

from __future__ import annotations

import pytest

from synth.actions import Waiting
from synth.errors import Conflict
from synth.services import dialogues, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.asking import ask, streaming


def test_what_a_person_types_brings_it_back_and_dates_that(dialogue):
    archived = dialogues.archive(dialogue)
    assert archived.archived_at is not None and archived.unarchived_at is None
    with ScriptedHost(["Hello."]) as host, host.installed():
        turns.take(dialogue, dialogue.person, "Are you there?")
    dialogue.refresh_from_db()
    assert dialogue.archived_at is None
    assert archived.archived_at < dialogue.unarchived_at <= dialogue.at


def test_a_message_that_answers_nothing_brings_it_back_too(dialogue):
    dialogues.archive(dialogue)
    dialogues.attach_proactive_node(dialogue, "The tide is out.")
    dialogue.refresh_from_db()
    assert dialogue.archived_at is None and dialogue.unarchived_at is not None


def test_bringing_it_back_by_hand_dates_it_once(dialogue):
    assert dialogues.unarchive(dialogue).unarchived_at is None
    dialogues.archive(dialogue)
    first = dialogues.unarchive(dialogue).unarchived_at
    assert first is not None and dialogues.unarchive(dialogue).unarchived_at == first


def test_what_was_never_put_away_was_never_brought_back(dialogue):
    with ScriptedHost(["Hello."]) as host, host.installed():
        turns.take(dialogue, dialogue.person, "Are you there?")
    dialogue.refresh_from_db()
    assert dialogue.unarchived_at is None


def test_it_stays_while_an_answer_is_on_its_way(dialogue):
    answer = streaming(dialogue)
    with pytest.raises(Conflict) as refused:
        dialogues.archive(dialogue)
    assert (refused.value.code, refused.value.details["message_id"]) == ("turn_running", answer.pk)
    dialogue.refresh_from_db()
    assert dialogue.archived_at is None


@pytest.mark.parametrize("act", [dialogues.archive, dialogues.delete])
def test_it_stays_while_a_question_is_open(dialogue, add, act):
    add(risk="needs_approval")
    _, waiting = ask(dialogue)
    assert isinstance(waiting, Waiting)
    with pytest.raises(Conflict) as refused:
        act(dialogue)
    assert refused.value.code == "approval_open"
    assert refused.value.details["approval_id"] == str(waiting.approval_id)
