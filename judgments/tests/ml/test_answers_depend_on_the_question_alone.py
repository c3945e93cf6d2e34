"""Order of options, batch mates, ids and question order move no answer by more than 1e-4."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("torch")

from judgments.heads import BadHead  # noqa: E402
from judgments.ml import artifacts, training  # noqa: E402
from judgments.ml.generated import rows  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.ml.rendering import FIELDS, question_key  # noqa: E402
from judgments.services.training import question_of  # noqa: E402
from judgments.tests.ml.kit import question, reading  # noqa: E402

pytestmark = pytest.mark.torch

STATES = [
    "The printer is broken again.",
    {"message": "Yes, that is you.", "last_line": "Shall I?"},
    ["a", "b"] * 200,
    "x",
]
CHOICE = {
    "type": "choice",
    "instructions": "What is it?",
    "criteria": {"hardware": "A device.", "mood": None, "x": "y"},
}


@pytest.fixture(scope="module")
def readers():
    found = reading()
    asked = question_of("growth.decision")
    made = training.train(
        "growth.decision", asked, rows("growth.decision", 80), found, FIELDS["growth.decision"], epochs=2
    )
    data = artifacts.dumps("growth.decision", question_key(asked), "tiny", made.head, made.metrics)
    return Readers(found, [artifacts.loads(data)])


def by_name(readers, state, asked):
    (found,) = readers.answer([(state, asked)])
    return dict(zip(asked.options, found.numbers, strict=True))


def near(a, b):
    assert a.keys() == b.keys()
    assert max(abs(a[key] - b[key]) for key in a) < 1e-4


@pytest.mark.parametrize("state", STATES, ids=["text", "object", "long", "short"])
@pytest.mark.parametrize("kind", ["embedding", "head"])
def test_the_order_of_options_moves_nothing(readers, state, kind):
    asked = question(CHOICE) if kind == "embedding" else question_of("growth.decision")
    rng = random.Random(1)
    first = by_name(readers, state, asked)
    for _ in range(4):
        names = rng.sample(list(asked.options), len(asked.options))
        wire = {**asked.as_wire(), "criteria": {name: asked.criteria[name] for name in names}}
        near(first, by_name(readers, state, question(wire)))


def test_batch_mates_move_nothing(readers):
    asked = [question(CHOICE), question_of("growth.decision")]
    alone = [by_name(readers, state, one) for state in STATES for one in asked]
    pairs = [(state, one) for state in STATES for one in asked]
    mates = [(f"mate {n} " * (n + 1), question(CHOICE)) for n in range(24)]
    found = readers.answer([*mates[:12], *pairs, *mates[12:]])[12 : 12 + len(pairs)]
    for lone, (_, one), answer in zip(alone, pairs, found, strict=True):
        near(lone, dict(zip(one.options, answer.numbers, strict=True)))


def test_the_trained_question_is_read_by_its_head_in_any_order_and_another_wording_is_not(readers):
    state = STATES[1]
    asked = question_of("growth.decision")
    (found,) = readers.answer([(state, asked)])
    assert found.reader.startswith("head:growth.decision@")
    assert found.is_calibrated is readers.heads[0].about.is_calibrated
    other = question({**asked.as_wire(), "instructions": "Something else?"})
    (found,) = readers.answer([(state, other)])
    assert (found.reader, found.is_calibrated) == ("embedding", False)


def test_a_state_without_the_parts_a_head_reads_is_not_given_to_it(readers):
    (found,) = readers.answer([({"words": "yes"}, question_of("growth.decision"))])
    assert found.reader == "embedding"


def test_nouls_and_scores_that_nobody_trained_are_flat_and_said_to_be(readers):
    noul = question({"type": "noul", "instructions": "Is it late?"})
    score = question({"type": "score", "criteria": ["low", "mid", "high"]})
    found = readers.answer([("state", noul), ("state", score)])
    assert [one.numbers for one in found] == [0.5, [1 / 3] * 3]
    assert {(one.reader, one.is_calibrated) for one in found} == {("flat", False)}


def test_one_option_is_certain(readers):
    (found,) = readers.answer([("state", question({"type": "choice", "criteria": {"only": None}}))])
    assert found.numbers == [1.0]


def test_a_state_over_the_limit_is_refused_with_the_limit(readers):
    from judgments.ml.encoding import TooLong
    from judgments.ml.readers import MAX_STATE_TOKENS

    with pytest.raises(TooLong, match=str(MAX_STATE_TOKENS)):
        readers.tokens("x" * (MAX_STATE_TOKENS + 1), [question(CHOICE)])


@pytest.mark.parametrize("place", ["state", "instructions", "options"])
def test_megabytes_are_refused_after_a_part_of_them(readers, monkeypatch, place):
    from judgments.ml.encoders import Encoder
    from judgments.ml.encoding import TooLong

    counted = []
    ids = Encoder.ids

    def count(self, text):
        counted.append(len(text))
        return ids(self, text)

    monkeypatch.setattr(Encoder, "ids", count)
    long = "x" * 1_000_000
    wire = {**CHOICE, "instructions": long} if place == "instructions" else CHOICE
    if place == "options":
        wire = {**CHOICE, "criteria": {f"{n}": "x" * 10_000 for n in range(100)}}
    with pytest.raises(TooLong):
        readers.tokens(long if place == "state" else "short", [question(wire)])
    assert sum(counted) < 150_000


@pytest.mark.parametrize("n", [8_192, 8_193, 16_384, 30_000])
def test_tokens_are_counted_exactly_up_to_the_limit(readers, n):
    assert readers.reading.count("x" * n, 32_768) == n


def test_the_end_of_a_long_state_is_read(readers):
    start = "nothing here " * 60
    a = by_name(readers, f"{start} {'z' * 400}", question(CHOICE))
    b = by_name(readers, f"{start} {'k' * 400}", question(CHOICE))
    assert max(abs(a[key] - b[key]) for key in a) > 1e-4


def test_a_head_is_stored_in_halves_and_read_back(readers):
    head = readers.heads[0]
    about = head.about
    data = artifacts.dumps(head.family, about.key, about.encoder, head.head, about.metrics)
    assert artifacts.loads(data).about.metrics == about.metrics
    with pytest.raises(BadHead):
        artifacts.loads(b"no head")
