"""Encoders and language models look between their layers whether anybody still waits for their answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from judgments.ml.causal import CausalReader  # noqa: E402
from judgments.ml.encoding import Reading  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.questions import Question  # noqa: E402
from judgments.tests.ml.kit import question, reading  # noqa: E402
from judgments.tests.ml.test_a_language_model_reads import Letters, tiny  # noqa: E402
from judgments.tests.ml.test_continuations_share_their_text import MODELS  # noqa: E402
from synth.inference import wanted  # noqa: E402

pytestmark = pytest.mark.torch
LONG = "a river " * 200


def asked() -> Question:
    return question({"type": "choice", "criteria": {f"option {n}": f"{n} words " * 30 for n in range(40)}})


class Looks:
    """Counts looks, and says after so many that nobody waits any more."""

    def __init__(self, most: int) -> None:
        self.n, self.most = 0, most

    def __call__(self) -> bool:
        self.n += 1
        return self.n <= self.most


@pytest.fixture(autouse=True)
def every_look_asks(monkeypatch):
    monkeypatch.setattr(wanted, "LOOK_S", 0.0)


def read_in(part: Callable[[], object], most: int) -> Looks:
    looks = Looks(most)
    with wanted.looking(looks):
        part()
    return looks


@pytest.mark.parametrize("most", [0, 1, 7])
def test_an_encoder_ends_at_the_layer_where_nobody_waits_any_more(most):
    readers = Readers(reading())
    with pytest.raises(wanted.Unwanted):
        read_in(lambda: readers.answer([(LONG, asked())]), most)


def test_a_text_that_was_given_up_is_read_anew():
    given_up, fresh = reading(), reading()
    with pytest.raises(wanted.Unwanted):
        read_in(lambda: given_up.read([LONG], keep=True), 1)
    found = given_up.read([LONG], keep=True)[LONG].mean
    assert torch.equal(found, fresh.read([LONG])[LONG].mean)


def test_what_is_wanted_to_the_end_is_answered_as_ever():
    kept: list[Reading] = [reading(), reading()]
    looks = Looks(1_000_000)
    with wanted.looking(looks):
        found = Readers(kept[0]).answer([(LONG, asked())])
    assert found == Readers(kept[1]).answer([(LONG, asked())]) and looks.n >= 10


def test_a_language_model_ends_while_it_reads_a_state():
    reader = CausalReader(tiny(), Letters(), "tiny")
    reader.answer("", [asked()])  # what it says without a state is known from now on
    whole = read_in(lambda: reader.answer(LONG, [asked()]), 1_000_000)
    for most in (0, whole.n // 2, whole.n - 1):
        with pytest.raises(wanted.Unwanted):
            read_in(lambda: reader.answer(LONG, [asked()]), most)


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_every_model_looks_between_its_layers(make):
    from judgments.ml.continuing import Continuing

    torch.manual_seed(1)
    continuing = Continuing(make(), [3, 9])
    assert read_in(lambda: continuing.logits([4, 5], [[6], [7, 8]]), 100).n >= 2
