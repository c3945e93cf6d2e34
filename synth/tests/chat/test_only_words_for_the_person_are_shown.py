"""While a reply is written only words for the person are shown, and what was shown is what is kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.chat import asked
from synth.chat.visible import Visible

ASK = '{"actions": [{"type": "bell_ring", "payload": {"times": 2}}]}'
PARTS = (
    ASK, "<think>", "</think>", "<Reasoning >", "</reasoning>", "```", "```json\n", "~~~", "`", "``",
    "````", "{", "}", "{ ", '{"actions"', '{"actions": [', '{“actions”: []}', "{actions:", "actions", '"',
    ": ", "\n", "\n\n", "  ", "word", " word", "Grüße \U0001f600", "x = {1: 2}", '{"act": 1}', "<", "<b>",
    "</think", "\u2003", "-", '{"reply": "Hi.", ', '{ "text": " Ho ", "actions": []}',
)  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=5)), max_size=14).map("".join)


def shown(pieces: list[str], content: str) -> str:
    visible = Visible()
    words = "".join(visible.feed(piece) for piece in pieces)
    assert content.startswith(words) and words == visible.shown
    words += visible.finish(content)
    assert words == visible.shown
    return words


def cut(text: str, at: list[int]) -> list[str]:
    return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts, st.data())
def test_however_a_reply_is_cut_the_words_shown_are_the_words_kept(text, data):
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    for pieces in (cut(text, at), list(text), [text]):
        kept = asked.read(text, ()).text
        assert shown(pieces, kept) == kept
        uncut = asked.visible(text)  # of a reply that reached the limit, or that called tools
        assert shown(pieces, uncut) == uncut


@pytest.mark.parametrize(
    ("text", "before_its_end"),
    [
        ("Hello there, you.", "Hello there, you."),
        ("  Hello \n", "Hello"),
        ("<think>Let me see {x</think>\n\nHello", "Hello"),
        ("<thinking>never closed", ""),
        ("<thicket> is a word", "<thicket> is a word"),
        (f"I ring. {ASK}", "I ring."),
        (f"I ring.\n```json\n{ASK}\n```\nDone.", "I ring."),
        (
            "Code:\n```py\nx = {1: 2}\n```\nand\n```py\ny\n```",
            "Code:\n```py\nx = {1: 2}\n```\nand\n```py\ny",
        ),
        ('An object {"act": 1} is shown', 'An object {"act": 1} is shown'),
        ("a `b` c ``", "a `b` c"),
        ("a ``d e", "a ``d e"),
        ('{"reply": "Hi."}', ""),
        ("```json\n{ “reply”: 1}", ""),
        ("{x} is a set", "{x} is a set"),
    ],
)
def test_words_are_held_back_only_where_they_may_not_be_for_the_person(text, before_its_end):
    visible = Visible()
    for char in text:
        visible.feed(char)
    assert visible.shown == before_its_end


def test_what_is_shown_grows_with_every_word():
    visible = Visible()
    words = [visible.feed(piece) for piece in ("Once", " upon", " a", " time", ". The", " end.")]
    assert words == ["Once", " upon", " a", " time", ". The", " end."]


def test_a_fence_around_an_action_goes_with_it_and_other_fences_stay():
    code = "```py\na\n```\n\n```py\nb\n```"
    assert asked.read(f"{code}\n```json\n{ASK}\n```\nDone.", ()).text == f"{code}\n\nDone."
    assert asked.read(f"```py\na\n```\n{ASK}\n```py\nb\n```", ()).text == "```py\na\n```\n\n```py\nb\n```"


def test_a_flood_of_what_may_become_something_costs_little():
    for flood in (
        "{ " * 20_000,
        "<think>" + "</" * 20_000,
        "`" * 40_000,
        "```json " * 5_000,
        "{" + " " * 5_000,
    ):
        visible = Visible()
        for n in range(0, len(flood), 7):
            visible.feed(flood[n : n + 7])
        assert flood.strip().startswith(visible.shown)
    assert json.loads(ASK)
