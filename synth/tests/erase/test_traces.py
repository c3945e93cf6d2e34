"""Copies are found in any dress; other people's words are not."""

import random

import pytest

from synth.services.traces import RUN, Traces

TEXT = (
    "On Tuesday she told me about the little bakery behind the station, "
    "and how its owner sings at four in the morning."
)


@pytest.mark.parametrize(
    "copy",
    [
        TEXT,
        TEXT.upper(),
        TEXT.replace(" ", "\n"),
        "> " + TEXT.replace(", ", ",\n> "),
        TEXT[20:90] + "…",
        "before " + TEXT[5:] + " after",
        TEXT.replace("e", "é"),
    ],
)
def test_a_copy_is_found(copy):
    assert Traces([TEXT]).are_in(copy)


@pytest.mark.parametrize(
    "other", ["", "On Tuesday she told me nothing.", "the little bakery", "a baker sings"]
)
def test_another_text_is_not_taken_for_one(other):
    assert not Traces([TEXT]).are_in(other)


def test_every_run_of_twice_the_length_is_found():
    rng = random.Random(3)
    text = "".join(rng.choice("abcdefgh 京都の桜") for _ in range(2000))
    plain = "".join(ch for ch in text if ch != " ")
    traces = Traces([text])
    for _ in range(200):
        at = rng.randrange(len(plain) - 2 * RUN)
        assert traces.are_in("zz" + plain[at : at + 2 * RUN - 1] + "yy")


def test_a_name_counts_as_a_whole_word_only():
    traces = Traces(names=["Ana", "o'neil"])
    assert (
        traces.are_in("I met ANA.")
        and traces.are_in("with O'Neil")
        and not traces.are_in("bananas, Anatolia")
    )


def test_nothing_to_look_for_is_in_no_text():
    assert not Traces() and not Traces([""], ["", "a"]).are_in("a")


def test_a_json_value_is_cleaned_string_by_string():
    traces = Traces(names=["mina"])
    value = {"mina": 1, "a": ["Mina was here", "nobody", 3, None], "b": {"c": True}}
    assert traces.scrub(value, "[removed]") == {
        "[removed]": 1,
        "a": ["[removed]", "nobody", 3, None],
        "b": {"c": True},
    }


def test_texts_can_be_added_later():
    traces = Traces(names=["mina"])
    assert not traces.are_in("The tea tin is behind the harbour clock.")
    traces.add(["The tea tin is behind the harbour clock"])
    assert traces.are_in("> The tea tin is\n> behind the harbour clock, he said") and traces.are_in("Mina")
