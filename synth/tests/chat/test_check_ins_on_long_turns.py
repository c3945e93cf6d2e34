"""A turn of many actions asks its person whether to go on, and goes on meanwhile."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from synth.chat import progress
from synth.errors import Conflict
from synth.models import Message, TurnState
from synth.services import check_ins
from synth.turns import Turn


class Told(list[dict[str, Any]]):
    """What viewers were told, in place of a publisher."""

    def check_in(self, **card: Any) -> None:
        self.append(card)


class Long:
    """A running turn whose actions a test adds."""

    def __init__(self, dialogue: Any) -> None:
        said = Message.objects.create(dialogue=dialogue, role="user", content="Find a ferry.")
        self.answer = Message.objects.create(
            dialogue=dialogue, parent=said, role="assistant", status="streaming", attempt=1,
            lease_until=timezone.now() + timedelta(seconds=60),
        )  # fmt: skip
        at = timezone.now() - timedelta(seconds=90)
        self.state = TurnState.objects.create(answer=self.answer, person=dialogue.person, at=at)
        self.turn = Turn(dialogue.agent, dialogue.person, dialogue, said, timezone.now())
        self.told = Told()
        self.n = 0

    def act(self, times: int = 1, name: str = "ferry_search") -> list[str]:
        """So many actions; what each look gave."""
        return [self._one(name) for _ in range(times)]

    def _one(self, name: str) -> str:
        self.n += 1
        calls = [{"id": "text_1", "name": name, "arguments": f'{{"page": {self.n}}}'}]
        dialogue = self.answer.dialogue
        Message.objects.create(dialogue=dialogue, role="assistant", metadata={"tool_calls": calls})
        Message.objects.create(
            dialogue=dialogue, role="tool", content=f"12 results on page {self.n}",
            metadata={"action": name, "call_id": "text_1", "is_ok": True},
        )  # fmt: skip
        return check_ins.look(self.turn, self.answer, self.n, self.told)  # type: ignore[arg-type]

    @property
    def card(self) -> dict[str, Any]:
        self.state.refresh_from_db()
        card: dict[str, Any] = self.state.check_in
        return card


@pytest.fixture
def long(dialogue, monkeypatch):
    monkeypatch.setenv("CHECK_IN_EVERY", "5")
    return Long(dialogue)


def test_a_card_comes_after_so_many_actions_and_the_turn_goes_on(long):
    assert long.act(4) == [""] * 4 and long.told == [] and long.card == {}
    assert long.act(4) == [""] * 4
    card = long.told[0]
    assert (card["n_calls"], card["mode"], card["choices"]) == (5, "ask", ["nudge", "keep_going", "stop"])
    assert 90 <= card["elapsed_s"] < 150 and len(long.told) == 1


def test_the_card_is_updated_in_place_at_the_next_check_in(long):
    long.act(11)
    assert [card["n_calls"] for card in long.told] == [5, 10]
    assert long.card["n_calls"] == 10 and long.card["choices"]


def test_the_first_one_comes_after_fifty_by_default(long, monkeypatch):
    monkeypatch.delenv("CHECK_IN_EVERY")
    looks = [check_ins.look(long.turn, long.answer, n, long.told) for n in range(1, 101)]
    assert looks == [""] * 100 and [card["n_calls"] for card in long.told] == [50, 100]


def test_several_actions_at_once_do_not_jump_over_it(long):
    check_ins.look(long.turn, long.answer, 7, long.told)
    check_ins.look(long.turn, long.answer, 9, long.told)
    check_ins.look(long.turn, long.answer, 13, long.told)
    assert [card["n_calls"] for card in long.told] == [7, 13]


def test_zero_switches_check_ins_off(long, monkeypatch):
    monkeypatch.setenv("CHECK_IN_EVERY", "0")
    assert long.act(20) == [""] * 20 and long.told == []


def test_actions_on_the_ignore_list_do_not_count(long, monkeypatch):
    monkeypatch.setenv("CHECK_IN_IGNORE", "memory_read, memory_list")
    long.act(6, "memory_read")
    assert long.told == []
    long.act(5)
    assert [card["n_calls"] for card in long.told] == [5]


def test_a_nudge_reaches_the_model_at_the_next_action_once(long):
    long.act(5)
    check_ins.choose(long.answer.pk, "nudge", by=long.turn.person)
    first, second = long.act(2)
    assert first.startswith("Check-in: 5 actions") and second == ""
    assert long.told[-1]["choices"] == [] and long.card["choice"] == "nudge"


def test_a_stop_takes_effect_at_the_next_action(long):
    long.act(5)
    card = check_ins.choose(long.answer.pk, "stop", by=long.turn.person)
    assert (card["choice"], card["by"], card["choices"]) == ("stop", "pia", [])
    assert long.act() == ["stop"]


def test_keeping_on_closes_the_card_until_the_next_check_in(long):
    long.act(5)
    check_ins.choose(long.answer.pk, "keep_going", by=long.turn.person)
    assert long.act(5) == [""] * 5
    assert long.card["choices"] and long.card["n_calls"] == 10


@pytest.mark.parametrize("choice", check_ins.CHOICES)
def test_viewers_hear_of_a_choice_at_the_next_action_once(long, choice):
    long.act(5)
    check_ins.choose(long.answer.pk, choice, by=long.turn.person)
    long.act(3)
    assert [card["choices"] for card in long.told] == [list(check_ins.CHOICES), []]


def test_in_mode_nudge_the_model_is_nudged_and_nobody_is_asked(long, monkeypatch):
    monkeypatch.setenv("CHECK_IN_MODE", "nudge")
    *before, last = long.act(5)
    assert before == [""] * 4 and last.startswith("Check-in: 5 actions")
    assert (long.told[0]["mode"], long.told[0]["choices"]) == ("nudge", [])
    with pytest.raises(Conflict):
        check_ins.choose(long.answer.pk, "stop", by=long.turn.person)


def test_in_mode_notify_people_are_told_and_nothing_else_happens(long, monkeypatch):
    monkeypatch.setenv("CHECK_IN_MODE", "notify")
    assert long.act(6) == [""] * 6
    assert [(card["mode"], card["choices"]) for card in long.told] == [("notify", [])]


def test_a_second_word_and_a_late_one_are_conflicts(long):
    with pytest.raises(Conflict) as early:
        check_ins.choose(long.answer.pk, "stop", by=long.turn.person)
    long.act(5)
    check_ins.choose(long.answer.pk, "keep_going", by=long.turn.person)
    with pytest.raises(Conflict) as second:
        check_ins.choose(long.answer.pk, "stop", by=long.turn.person)
    long.state.delete()
    with pytest.raises(Conflict) as late:
        check_ins.choose(long.answer.pk, "stop", by=long.turn.person)
    assert {error.value.code for error in (early, second, late)} == {"check_in_closed"}
    assert (second.value.details["choice"], second.value.details["by"]) == ("keep_going", "pia")
    assert long.act() == [""]


@pytest.mark.django_db(transaction=True)
def test_of_two_words_at_once_one_counts(long):
    long.act(5)
    found: list[str] = []
    start = threading.Barrier(2)

    def say(choice: str) -> None:
        start.wait()
        try:
            check_ins.choose(long.answer.pk, choice, by=long.turn.person)
            found.append(choice)
        except Conflict as conflict:
            found.append(conflict.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=say, args=(choice,)) for choice in ("stop", "keep_going")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count("check_in_closed") == 1 and long.card["choice"] in found


def test_a_turn_stopped_with_an_open_card_answers_it(long):
    long.act(5)
    check_ins.turn_stopped(long.answer.pk)
    assert (long.card["choice"], long.card["choices"]) == ("turn_stopped", [])
    check_ins.turn_stopped(long.answer.pk)
    check_ins.turn_stopped(0)


def test_a_turn_without_a_state_is_left_alone(long):
    long.state.delete()
    assert long.act(6) == [""] * 6


def test_a_judgments_state_stays_about_four_kib_whatever_was_called():
    calls = [("search", '{"q": "' + "火" * 400 + '"}', "é" * 400) for _ in range(50)]
    made = progress.state("問" * 5_000, calls, n_calls=50, elapsed_s=240.4)
    size = len(made["request"].encode()) + sum(len(line.encode()) for line in made["calls"])
    assert size <= progress.STATE_BYTES and len(made["calls"]) == 50 and made["elapsed_s"] == 240
    assert all(" -> é" in line for line in made["calls"])
