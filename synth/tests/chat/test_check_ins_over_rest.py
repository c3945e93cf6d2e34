"""The card of a long turn is answered by the person of its dialogue and nobody else."""

from __future__ import annotations

import pytest

from synth.services import people
from synth.tests.api.conftest import no_limits  # noqa: F401 - a fixture
from synth.tests.chat.test_check_ins_on_long_turns import Long
from synth.tests.chat.test_toolkits_over_rest import client_of


@pytest.fixture
def long(dialogue, monkeypatch):
    monkeypatch.setenv("CHECK_IN_EVERY", "2")
    made = Long(dialogue)
    made.act(2)
    return made


def post(person, answer_id, body, **headers):
    return client_of(person).post(f"/api/chat/{answer_id}/check-in/", body, format="json", headers=headers)


def test_a_word_is_taken_and_a_second_one_refused(long, person):
    first = post(person, long.answer.pk, {"choice": "nudge"})
    assert first.status_code == 200
    assert (first.json()["choice"], first.json()["by"], first.json()["choices"]) == ("nudge", "pia", [])
    second = post(person, long.answer.pk, {"choice": "stop"})
    assert (second.status_code, second.json()["error"]["code"]) == (409, "check_in_closed")
    assert second.json()["error"]["choice"] == "nudge"


def test_the_same_key_is_one_word(long, person):
    client = client_of(person)
    url = f"/api/chat/{long.answer.pk}/check-in/"
    answers = [
        client.post(url, {"choice": "stop"}, format="json", headers={"Idempotency-Key": "k"})
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize("body", [{}, {"choice": "perhaps"}, {"choice": 1}, {"choice": "stop", "more": 1}])
def test_other_words_are_refused_with_their_field(long, person, body):
    answer = post(person, long.answer.pk, body)
    assert answer.status_code == 400 and answer.json()["error"]["field"] in ("choice", "more")
    assert long.card["choices"]


def test_others_find_no_such_card(long, person):
    for who, pk in ((people.ensure("ada"), long.answer.pk), (person, 10**17), (person, "9" * 40)):
        answer = post(who, pk, {"choice": "stop"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "message_not_found")


def test_an_answer_that_is_over_takes_no_word(long, person):
    long.state.delete()
    assert post(person, long.answer.pk, {"choice": "stop"}).status_code == 409
