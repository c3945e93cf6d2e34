"""Rules of the ranking, word by word."""

from datetime import UTC, datetime, timedelta

import pytest

from synth.models import Agent
from synth.recall import query, rank, typos
from synth.services import memories

AT = datetime(2026, 5, 4, tzinfo=UTC)


def slots(*words, n_all=100, counts=None):
    return query.weigh(query.parse(list(words)), counts or dict.fromkeys(words, 3), n_all)


def candidate(pk, *held, days=0, n_tokens=50):
    return rank.Candidate(pk, AT - timedelta(days=days), n_tokens, frozenset(held))


def order(found_slots, *candidates):
    return [c.id for c, _ in rank.Ranking(found_slots, AT).best(candidates, 10)]


def test_scores_are_between_zero_and_one_and_a_full_match_is_near_one():
    ranking = rank.Ranking(slots("tea", "kyoto"), AT)
    full = ranking.score(candidate(1, "tea", "kyoto", "^tea", "^kyoto", n_tokens=0))
    assert 0.95 < full <= 1 and ranking.score(candidate(2)) == 0


def test_a_rare_word_outweighs_a_common_one():
    found = slots("the", "heron", counts={"the": 90, "heron": 2})
    assert order(found, candidate(1, "the"), candidate(2, "heron")) == [2, 1]


def test_a_word_in_the_name_or_a_tag_counts_more():
    assert order(slots("tea"), candidate(1, "tea"), candidate(2, "tea", "^tea", days=20)) == [2, 1]


def test_of_equals_the_newer_comes_first_then_the_higher_id():
    assert order(slots("tea"), candidate(1, "tea", days=9), candidate(2, "tea"), candidate(3, "tea")) == [
        3,
        2,
        1,
    ]


def test_a_short_memory_beats_a_long_one_with_the_same_words():
    assert order(slots("tea"), candidate(1, "tea", n_tokens=9000), candidate(2, "tea", n_tokens=20)) == [2, 1]


def test_function_words_of_a_sentence_count_less_but_count():
    found = {slot.word: slot.factor for slot in query.parse("where is the heron")}
    assert found["heron"] == 1 and 0 < found["the"] < 0.5
    assert all(slot.factor == 1 for slot in query.parse(["the", "who"]))


def test_pairs_lead_and_single_characters_follow_unless_alone():
    found = {slot.word: (slot.factor, slot.selects) for slot in query.parse(["京都", "桜"])}
    assert list(found["京都"]) == [1, True]
    factor, selects = found["京"]
    assert not selects and factor < 0.5
    assert found["桜"] == (1, True)


def test_rare_words_fetch_within_the_budget_and_common_ones_only_when_alone():
    found = slots("rare", "middle", "common", n_all=9000, counts={"rare": 5, "middle": 900, "common": 8000})
    counts = {"rare": 5, "middle": 900, "common": 8000}
    choice = query.choose(found, counts, 9000, budget=1000)
    assert [term for term, _ in choice.rare] == ["rare", "middle"]
    alone = query.choose(slots("common", counts=counts, n_all=9000), counts, 9000, budget=1000)
    assert alone.rare == () and [term for term, _ in alone.common] == ["common"]


def test_a_long_question_is_cut_to_a_bounded_number_of_words():
    assert len(query.parse(" ".join(f"w{n}" for n in range(5000)))) == query.MAX_SLOTS


@pytest.mark.parametrize(
    "word, known, near",
    [
        ("kyoto", "koyto", True),
        ("kyoto", "kyto", True),
        ("kyoto", "kyotto", True),
        ("kyoto", "kioto", True),
        ("kyoto", "tokyo", False),
        ("tea", "tee", True),
        ("gardening", "gardens", True),
        ("heron", "hero", True),
        ("porcelain", "porcelian", True),
        ("station", "nation", False),
        ("кошками", "кошка", True),
    ],
)
def test_near_words_are_told_from_others(word, known, near):
    assert (typos.closeness(word, known) > 0) is near


def test_distance_counts_a_swap_once_and_stops_at_the_limit():
    assert typos.distance("abcd", "abdc", 2) == 1
    assert typos.distance("abcd", "wxyz", 2) == 3
    assert typos.distance("", "ab", 2) == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "question", ["", " ", "?!…", [], "\x00", "'", "a' & 'b", "\ud83d", "🙂", "!(|&:*)", "^", "#0", "\\"]
)
def test_no_question_breaks_recall(question):
    agent = Agent.objects.create(slug="a", name="A")
    memories.write(agent, text="tea")
    assert memories.recall(agent, question, about=None, limit=5) == []


@pytest.mark.django_db
def test_the_limit_holds_and_scores_descend():
    agent = Agent.objects.create(slug="a", name="A")
    for n in range(12):
        memories.write(agent, text="tea " + "leaf " * n, at=AT)
    found = memories.recall(agent, "tea leaf", about=None, limit=5, at=AT)
    scores = [one.score for one in found]
    assert len(found) == 5 and scores == sorted(scores, reverse=True) and all(0 < s <= 1 for s in scores)
    assert memories.recall(agent, "tea leaf", about=None, limit=5, at=AT) == found
    assert memories.recall(agent, "tea", about=None, limit=0) == []
