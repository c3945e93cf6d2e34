"""A read over its limit is cut with a mark that says how to go on; reading on gives the rest, all of it."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from synth import actions, memory_sizes
from synth.services import memories
from synth.turns import Turn

LONG = "".join(f"line {n:05d}\n" for n in range(4_000))  # 44,000 characters


def read(agent, person, name="log", **payload):
    turn = Turn(agent, person, None, None, timezone.now())
    return actions.perform(turn, "memory_read", {"name": name, **payload})


def read_on(agent, person):
    """The whole memory in parts, and how many parts it took."""
    text, offset, n = "", 0, 0
    while True:
        outcome = read(agent, person, offset_chars=offset)
        assert outcome.is_ok and len(outcome.text) <= actions.MAX_TEXT_CHARS
        body = outcome.text.partition("):\n")[2]
        found = re.search(
            r"\n\[cut: characters (\d+) to (\d+) of (\d+); read on with offset_chars (\d+)\]$", body
        )
        n += 1
        if found is None:
            return text + body, n
        assert (int(found[1]), int(found[3])) == (offset, len(LONG))
        text, offset = text + body[: found.start()], int(found[4])


@pytest.fixture
def log(agent):
    return memories.write(agent, text=LONG, name="log")


def test_an_unknown_window_has_no_guard_but_what_a_result_line_holds(agent, person, log):
    assert read_on(agent, person) == (LONG, 3)


def test_a_known_window_cuts_at_its_half(agent, person, log, monkeypatch):
    monkeypatch.setenv("LLM_CONTEXT_TOKENS", "4000")
    assert 7_900 < read(agent, person).data["end"] <= 8_000
    assert read_on(agent, person) == (LONG, 6)


def test_a_cap_of_its_own_holds_with_and_without_a_window(agent, person, log, monkeypatch):
    monkeypatch.setenv("MEMORY_READ_MAX_CHARS", "1000")
    assert read(agent, person).data["end"] == 1_000
    monkeypatch.setenv("LLM_CONTEXT_TOKENS", "100")
    assert 190 < read(agent, person).data["end"] <= 200


def test_a_short_one_is_whole_and_a_read_past_the_end_says_so(agent, person, log):
    memories.write(agent, text="Short.", name="tea")
    assert read(agent, person, "tea").text == "Memory tea (fact, ~2 tokens):\nShort."
    assert read(agent, person, "tea", offset_chars=6).code == "offset_too_large"


@pytest.mark.parametrize("text", ["京" * 5_000, "👩‍👩‍👧" * 900, "a" * 5_000, "é火 " * 1_500])
def test_half_a_window_is_counted_as_the_server_counts_tokens(text):
    found, end = memory_sizes.part(
        text, 10, max_chars=100_000, window_tokens=500, estimate=memories.estimate_tokens
    )
    assert found == text[10:end] and 125 < memories.estimate_tokens(found) <= 250


def test_reading_on_always_ends():
    found, end = memory_sizes.part("京京", 0, max_chars=9, window_tokens=2, estimate=lambda text: 99)
    assert (found, end) == ("京", 1)


def test_the_option_refuses_what_is_no_number(monkeypatch):
    from synth.turn_options import turn_options_fit

    monkeypatch.setenv("LLM_CONTEXT_TOKENS", "much")
    assert [message.id for message in turn_options_fit()] == ["synth.E010"]
