"""What growth's errors say is a sentence a person can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from growth.services import settings
from synth.errors import Invalid
from synth.testing import errors_raised

GROWTH = Path(__file__).resolve().parents[1]


def test_messages_are_sentences():
    said = errors_raised.messages(GROWTH)
    assert said and [one for one in said if not errors_raised.is_sentence(one[1])] == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("mode", "maybe"), ("diary_days", 0), ("diary_days", "x"), ("weekly_time", "25:00"), ("mode", None)],
)
def test_a_setting_that_does_not_fit_is_refused_in_a_sentence(agent, field, value):
    with pytest.raises(Invalid) as caught:
        settings.change(agent, {field: value}, by=None, door="command")
    assert errors_raised.is_sentence(caught.value.message) and ".." not in caught.value.message
