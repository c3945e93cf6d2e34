"""How meaning moves what words found: never down, never past what words found well."""

from __future__ import annotations

import base64
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.recall import meaning
from synth.recall.meaning import WEIGHT, Meaning, fuse, lifted, read, share

SCORES = st.floats(0, 1)
COSINES = st.floats(-1, 1)
FOUND = st.dictionaries(st.integers(1, 40), SCORES, max_size=20).map(
    lambda found: sorted(found.items(), key=lambda one: -one[1])
)
NEAR = st.dictionaries(st.integers(1, 60), COSINES, max_size=30)


@given(SCORES, COSINES)
def test_meaning_lifts_a_score_and_never_lowers_it(score, near):
    assert score <= lifted(score, near) <= 1


@given(SCORES, COSINES, COSINES)
def test_the_nearer_of_two_with_like_words_is_first(score, a, b):
    low, high = sorted((a, b))
    assert lifted(score, low) <= lifted(score, high)


@given(SCORES, SCORES, COSINES, COSINES)
def test_what_words_found_well_stays_before_whatever_is_only_like_it(well, other, a, b):
    if well > lifted(other, 1):
        assert lifted(well, a) > lifted(other, b)
    assert lifted(0, b) <= WEIGHT + 1e-9


@given(FOUND)
def test_without_vectors_the_order_is_that_of_words(found):
    assert fuse(found, {}) == found


@given(FOUND, st.floats(-1, meaning.UNRELATED))
def test_vectors_that_say_nothing_change_nothing(found, near):
    assert fuse(found, {pk: near for pk in range(1, 60)}) == found


@given(FOUND, NEAR)
def test_nothing_is_lost_and_what_comes_in_is_really_near(found, near):
    fused = fuse(found, near)
    ids = [pk for pk, _ in fused]
    assert len(ids) == len(set(ids)) and set(dict(found)) <= set(ids) <= set(dict(found)) | set(near)
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    for pk, score in fused:
        if pk not in dict(found):
            assert score >= meaning.LEAST_ALONE and near[pk] > meaning.UNRELATED


def test_a_cosine_is_a_share_between_two_bounds():
    assert (share(meaning.UNRELATED), share(meaning.SAME)) == (0, 1)
    assert (share(-1), share(1)) == (0, 1)


def unit(*places: int) -> list[float]:
    return [1 / math.sqrt(len(places)) if n in places else 0.0 for n in range(meaning.DIMS)]


def wire(packed: bytes) -> str:
    return base64.b64encode(packed).decode()


def test_an_answer_is_read_and_has_a_bit_for_each_number():
    (found,) = read({"model": "m/1", "vectors": [wire(meaning.pack(unit(0, 5)))]}, 1)
    assert found == Meaning("m/1", meaning.pack(unit(0, 5)))
    assert found.signs == "100001" + "0" * (meaning.DIMS - 6)
    assert meaning.cosine(found.numbers, unit(0)) == pytest.approx(math.sqrt(0.5), abs=1e-3)


GOOD = wire(meaning.pack(unit(3)))
NAN = wire(struct.pack("<384e", math.nan, *unit(1)[1:]))
ENDLESS = wire(struct.pack("<384e", math.inf, *unit(1)[1:]))


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"model": "m/1"},
        {"vectors": [GOOD]},
        {"model": "", "vectors": [GOOD]},
        {"model": 7, "vectors": [GOOD]},
        {"model": "m" * 65, "vectors": [GOOD]},
        {"model": "m/1", "vectors": []},
        {"model": "m/1", "vectors": [GOOD, GOOD]},
        {"model": "m/1", "vectors": GOOD},
        {"model": "m/1", "vectors": [None]},
        {"model": "m/1", "vectors": [[0.1] * meaning.DIMS]},
        {"model": "m/1", "vectors": ["not base64!"]},
        {"model": "m/1", "vectors": ["ü"]},
        {"model": "m/1", "vectors": [wire(meaning.pack(unit(3))[:-2])]},
        {"model": "m/1", "vectors": [wire(meaning.pack(unit(3)) + b"\0\0")]},
        {"model": "m/1", "vectors": [wire(meaning.pack([0.0] * meaning.DIMS))]},
        {"model": "m/1", "vectors": [wire(meaning.pack([0.5] * meaning.DIMS))]},
        {"model": "m/1", "vectors": [NAN]},
        {"model": "m/1", "vectors": [ENDLESS]},
    ],
)
def test_an_answer_of_another_shape_is_refused(answer):
    with pytest.raises(ValueError):
        read(answer, 1)
