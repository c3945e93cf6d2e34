"""Short whole messages that can only be a yes or a no, in many languages; everything else is not guessed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import decision_words

TABLE = json.loads((Path(decision_words.__file__).parent / "data" / "decision_words.json").read_text())
YES = [
    "yes", "YES!", " Approve. ", "va bene", "Va bene!", "いいよ", "いいよ！", "ok 👍🏽", "👍", "✅",
    "sì, va bene", "d’accord", "ＯＫ", "可以。", "네~", "да", "ja, bitte", "نعم", "हाँ", "ตกลง", "Đồng ý",
    "¡Sí!", "ok 👍👍", "yes 😊!", "好的~",
]  # fmt: skip
NO = ["no", "No.", "rifiuta", "nein!", "いいえ", "不行", "아니요", "нет", "لا", "👎", "no, grazie"]
NEITHER = [
    "", " ", "yes?", "ok？", "maybe", "yes but shorter", "no idea", "not no", "yes no", "yesterday",
    "noon", "si o no",
    "va bene se è più corto", "いいよね、雨", "he said yes", '"yes" is a band',
    "approve the budget", "I don't approve",
    "!!!", "…", "y", "n", "no problem", "好的但是短一点", "yes " * 20, "no\nbut yes", "いい天気",
    '"yes"', "“yes”", "«да»", "「はい」", "(yes)", "> yes", "yes…", "yes...", "はい。。。", "¬yes",
    "ok :/", "yes :(", "ok 👎", "ok ❌", "no ✅", "no 👍", "👍👎", "yes ❓", "yes⁉", "🤔 ok",
    "ok 🙃", "yes 🙄", "ja 😏", "*yes*", "yes-ish",
]  # fmt: skip


@pytest.mark.parametrize("text", YES)
def test_a_plain_yes_is_one(text):
    assert decision_words.read(text) == "approve"


@pytest.mark.parametrize("text", NO)
def test_a_plain_no_is_one(text):
    assert decision_words.read(text) == "reject"


@pytest.mark.parametrize("text", NEITHER)
def test_everything_else_is_left_to_the_model(text):
    assert decision_words.read(text) == ""


def test_no_word_is_on_both_sides_or_twice():
    yes, no = (
        {decision_words._bare(word, kind) or word for word in TABLE[kind]} for kind in ("approve", "reject")
    )
    assert not yes & no


@pytest.mark.parametrize("kind", ["approve", "reject"])
def test_every_entry_is_read_as_it_stands(kind):
    assert [word for word in TABLE[kind] if decision_words.read(word) != kind] == []


@given(st.text())
def test_any_text_is_read(text):
    assert decision_words.read(text) in ("", "approve", "reject")
