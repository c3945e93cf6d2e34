"""A reply is judged by what it says; its evidence by what the diary says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.reply import DiaryText, find_quote, judge

DIARY = [
    DiaryText(3, "Jay showed me the harbour.\nHe said “the ferries don’t wait”…"),
    DiaryText(5, "李さんと美術館に行った。静かだった。"),
]
TEXT = "I walked the harbour with Jay. I was quiet with 李さん."


def evidence_of(items):
    return judge({"self_growth": TEXT, "evidence": items}, DIARY)


@pytest.mark.parametrize(
    "value",
    [
        None, [], "text", 3, True, {}, {"self_growth": None}, {"self_growth": ""}, {"self_growth": " \n\t"},
        {"self_growth": "\u200b\ufeff"}, {"self_growth": ["I grew"]}, {"self_growth": {"text": "I grew"}},
        {"self_growth": 7}, {"self_growth": False}, {"growth": "I grew"}, {"self_growth": "x" * 2001},
        {"self_growth": "\x00\ud800"},
    ],
)  # fmt: skip
def test_a_reply_without_a_reflection_is_bad_shape(value):
    judged = judge(value, DIARY)
    assert (judged.problem, judged.self_growth) == ("bad_shape", "") and judged.detail


def test_two_thousand_characters_after_trimming_are_allowed():
    assert judge({"self_growth": " " + "x" * 2000 + "\n"}, []).problem == ""


def test_lists_are_handed_on_unread():
    judged = judge({"self_growth": "I grew.", "likes": "art, music", "extra": 1}, [])
    assert (judged.likes, judged.dislikes) == ("art, music", None)


def test_nul_and_lone_surrogates_are_replaced():
    assert judge({"self_growth": "a\x00b\ud800"}, []).self_growth == "a\ufffdb\ufffd"


def test_a_quote_in_the_diary_holds():
    judged = evidence_of([{"sentence": 0, "quote": "Jay showed me the harbour", "diary_ids": [3]}])
    assert [one.as_json() for one in judged.evidence] == [
        {"sentence": 0, "quote": "Jay showed me the harbour", "diary_ids": [3]}
    ]
    assert judged.unsourced == (1,)


@pytest.mark.parametrize(
    ("quote", "stored"),
    [
        ('"the ferries don\'t wait"', "the ferries don’t wait"),
        ("showed me the   harbour. He said", "showed me the harbour.\nHe said"),
        ("…the harbour...", "the harbour"),
        ("「美術館に行った」", "美術館に行った"),
    ],
)
def test_a_quote_is_stored_as_the_diary_writes_it(quote, stored):
    assert [one.quote for one in evidence_of([{"sentence": 0, "quote": quote}]).evidence] == [stored]


def test_a_wrong_entry_id_is_corrected():
    item = {"sentence": "1", "quote": "静かだった", "diary_ids": [3, "x", None]}
    assert [one.diary_ids for one in evidence_of([item]).evidence] == [(5,)]


@pytest.mark.parametrize(
    "item",
    [
        {"sentence": 0, "quote": "Jay sold me the harbour"},
        {"sentence": 2, "quote": "harbour"},
        {"sentence": -1, "quote": "harbour"},
        {"sentence": True, "quote": "harbour"},
        {"sentence": None, "quote": "harbour"},
        {"sentence": 0, "quote": ""},
        {"sentence": 0, "quote": "the"},
        {"sentence": 0, "quote": ["harbour"]},
        {"sentence": 0},
        "harbour",
        7,
        None,
    ],
)
def test_evidence_that_does_not_hold_is_dropped_with_a_note(item):
    judged = evidence_of([item])
    assert (judged.evidence, len(judged.notes), judged.unsourced) == ((), 1, (0, 1))


@pytest.mark.parametrize("claimed", ["harbour", 3, True, 1.5])
def test_evidence_that_is_no_list_leaves_all_unsourced(claimed):
    judged = evidence_of(claimed)
    assert (judged.problem, judged.evidence, judged.unsourced) == ("", (), (0, 1))


def test_no_evidence_leaves_every_sentence_unsourced():
    assert judge({"self_growth": TEXT}, DIARY).unsourced == (0, 1)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["self_growth", "evidence", "sentence", "quote", "diary_ids"]), inner
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_judged_and_what_is_kept_stands_in_the_diary(value):
    judged = judge(value, DIARY)
    assert judged.problem in ("", "bad_shape")
    for one in judged.evidence:
        assert any(one.quote in entry.content for entry in DIARY if entry.id in one.diary_ids)
    json.dumps([one.as_json() for one in judged.evidence]).encode()


@given(st.text(alphabet="ab .'’…-\n", max_size=40), st.text(alphabet="ab .'’…-\n", max_size=60))
def test_a_found_quote_is_a_piece_of_the_text(quote, text):
    found = find_quote(quote, text)
    assert found is None or found in text
