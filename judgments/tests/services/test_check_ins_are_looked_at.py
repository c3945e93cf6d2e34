"""Each check-in asks whether the turn makes progress; nobody acts on it; the person's choice is a label."""

from __future__ import annotations

import pytest

from synth.services import agents, check_ins, dialogues, people
from synth.tests.chat.test_check_ins_on_long_turns import Long

NAME = "check-in.progress"


@pytest.fixture
def long(db, monkeypatch):
    monkeypatch.setenv("CHECK_IN_EVERY", "3")
    agent = agents.create(slug="wren", name="Wren")
    return Long(dialogues.create(agent, people.ensure("pia")))


def test_the_ask_has_the_request_and_the_calls_since_the_last_check_in(long, judgments):
    judgments.mode(NAME, "audit")
    long.act(3)
    judgments.wait()
    long.act(3)
    judgments.wait()
    first, second = judgments.runs(NAME)
    assert first.session_id == f"dialogue:{long.turn.dialogue.pk}"
    assert first.state["request"] == "Find a ferry." and first.state["n_calls"] == 3
    assert first.state["calls"][0] == 'ferry_search {"page": 1} -> 12 results on page 1'
    assert [line[:24] for line in second.state["calls"]] == [
        f'ferry_search {{"page": {n}}}' for n in (4, 5, 6)
    ]
    assert 90 <= first.state["elapsed_s"] < 150


@pytest.mark.parametrize("noul", [0.01, 0.99])
def test_in_mode_on_nothing_follows_from_the_answer(long, judgments, noul):
    judgments.answer(NAME, noul)
    assert long.act(3) == [""] * 3
    judgments.wait()
    assert long.act(2) == [""] * 2 and long.card["choices"]


@pytest.mark.parametrize("choice", check_ins.CHOICES)
def test_what_the_person_chose_is_one_weak_label(long, judgments, choice):
    judgments.mode(NAME, "audit")
    long.act(3)
    check_ins.choose(long.answer.pk, choice, by=long.turn.person)
    judgments.wait()
    labels = [(label.value, label.strength, label.by) for label in judgments.labels(NAME)]
    assert labels == [(choice, "weak", "check-in:user")]


def test_a_stopped_turn_labels_its_open_card(long, judgments):
    judgments.mode(NAME, "audit")
    long.act(3)
    check_ins.turn_stopped(long.answer.pk)
    check_ins.turn_stopped(long.answer.pk)
    judgments.wait()
    labels = [(label.value, label.strength, label.by) for label in judgments.labels(NAME)]
    assert labels == [("turn_stopped", "weak", "check-in:turn")]


def test_with_the_judgment_off_the_card_is_the_same(long, judgments):
    assert long.act(3) == [""] * 3
    check_ins.choose(long.answer.pk, "stop", by=long.turn.person)
    assert long.act() == ["stop"] and judgments.runs(NAME) == [] and judgments.labels(NAME) == []
