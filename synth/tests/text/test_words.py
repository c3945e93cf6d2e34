"""Words of any language: what can be searched for, and what carries meaning."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.words import content_tokens, fold, is_unspaced, keywords, languages_of, stopwords, tokens


def test_words_are_folded():
    assert tokens("Café ΑΘΗΝΑ İstanbul Łódź Straße") == ["cafe", "αθηνα", "istanbul", "lodz", "strasse"]


def test_letters_of_other_scripts_are_not_confused_by_folding():
    assert (fold("й"), fold("が"), tokens("हिंदी में")) == ("й", "が", ["हिंदी", "में"])


def test_optional_points_do_not_hide_a_word():
    assert tokens("שָׁלוֹם مُحَمَّد") == tokens("שלום محمد")


def test_unspaced_runs_give_characters_and_bigrams():
    assert tokens("美術館") == ["美", "術", "館", "美術", "術館"]


def test_mixed_scripts_are_parted():
    assert tokens("LINEで連絡2回") == ["line", "で", "連", "絡", "で連", "連絡", "2", "回"]


def test_a_korean_word_is_found_with_and_without_its_particle():
    assert "지민" in tokens("지민이랑") and "커피" in tokens("커피를")


@pytest.mark.parametrize(
    "text",
    [
        "about, their, would",
        "I'd have been there, wouldn't you?",
        "è stato anche quello che ho",
        "я был там с ней",
        "ich habe es nicht mehr",
        "que no lo es para mí",
        "ce que je suis",
        "です",
        "した",
        "この",
        "的",
        "了",
        "是",
        "这是我的",
        "それはとても",
        "ที่และของ",
        "នេះ",
        "그리고 나는",
        "और यह भी है",
        "اليوم كان هذا",
        "2024 10 7",
        "",
    ],
)
def test_function_words_alone_carry_nothing(text):
    assert content_tokens(text) == set()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I met Jay at the harbour", "jay"),
        ("Ana was there", "ana"),
        ("I saw Ben and the dog", "ben"),
        ("李", "李"),
        ("ho visto Leo al porto", "leo"),
        ("지민은 웃었다", "지민"),
        ("李雷来了", "李雷"),
        ("さくらと話した", "さく"),
    ],
)
def test_short_names_survive(text, name):
    assert name in content_tokens(text)


def test_stop_words_cover_many_languages():
    assert len(stopwords()) >= 25


def test_the_language_is_guessed_from_function_words():
    assert languages_of("the dog and i were there with ben".split())[0] == "en"
    assert languages_of("sono andato con lei al mare".split())[0] == "it"


def test_keywords_are_the_frequent_content_words():
    texts = ["The ferry left late.", "I like the ferry and the harbour.", "Ferry again, and Jay."]
    assert keywords(texts, 2) == ["ferry", "harbour"]
    assert keywords(texts, 0) == keywords(texts, -1) == []


@pytest.mark.parametrize("ch", "漢かカ々ไຮ្កမ")
def test_unspaced_scripts_are_known(ch):
    assert is_unspaced(ch)


@pytest.mark.parametrize("ch", "aя한אع1 。ह")
def test_spaced_scripts_are_known(ch):
    assert not is_unspaced(ch)


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_gives_clean_tokens(text):
    assert all(token and not token.isspace() for token in tokens(text))
    assert all(content_tokens(text))


@pytest.mark.parametrize(
    "unit", ["We walked to the harbour with Jay. ", "李さんと美術館に行きました。", "วันนี้ไปตลาดกับนก "]
)
def test_long_text_is_quick(unit):
    text = unit * (100_000 // len(unit))
    started = time.perf_counter()
    tokens(text)
    assert time.perf_counter() - started < 2
