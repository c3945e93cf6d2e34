"""Laws of the public suite JevBench that every reader keeps by the way it is made: none is ever broken.

Companions, ids, order and type move no answer, whatever the weights: random ones read both suites, and so do
the shipped encoder and heads. Of `jevbench-mini` a few of its twelve domains are read, each with all laws;
`bench.coherence --kept` reads them all. Laws that ask somebody to understand a question (its negation, its
parts) are measured there too.
"""

from __future__ import annotations

import re
import zlib

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
jevbench = pytest.importorskip("jevbench")

from bench.coherence import KEPT, SAME_WORDING, answers_of, head_cases  # noqa: E402
from judgments.ml.causal import CausalReader  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.ml.runner import Runner  # noqa: E402
from judgments.tests.ml.kit import reading  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.torch]
# Names and domains; every law has two tests in each domain.
SUITES = {"examples": None, "jevbench-mini": ("agent_logs", "legal_contracts")}
# Kept by who says nothing of a yes-or-no question, and by nobody else.
FLAT = ("de_morgan", "negation_wrapper", "inclusion_exclusion")
TOLERANCE = 1e-3  # the suite's own is 0.05


class Words:
    """A tokenizer that takes a word for one of two thousand tokens."""

    bos_token_id = 1

    def encode(self, text, add_special_tokens=False):
        return [2 + zlib.crc32(word.encode()) % 1998 for word in re.findall(r"\s?\w+|\s|\W", text)]


def language_model():
    """Random weights, large enough for answers far from even."""
    torch.manual_seed(5)
    config = transformers.Gemma3TextConfig(
        vocab_size=2000,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=64,
        layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=4096,
        initializer_range=1.0,
        tie_word_embeddings=False,
    )
    model = transformers.Gemma3ForCausalLM(config)
    model.lm_head.weight.data.mul_(3)
    return CausalReader(model, Words(), "tiny")


@pytest.fixture(scope="module")
def tiny():
    """Readers with random weights, by name."""
    return {
        "embedding and flat": answers_of(Readers(reading())),
        "language model": answers_of(Readers(reading(), causal=language_model())),
    }


@pytest.fixture
def shipped(db):
    """The shipped encoder and heads."""
    runner = Runner()
    runner.load()
    torch.set_num_threads(1)
    return runner.readers


def scores(model, **how):
    """What share of its tests each law passed, in per cent."""
    how.setdefault("domains", SUITES.get(how.get("suite", "")))
    found = jevbench.evaluate(model, cache=None, min_n=1, bootstrap=1, tolerance=TOLERANCE, **how).scores
    assert not found["incomplete"]
    return {name: 100 * value for name, value in found["relations"].items()}


def broken(answer, **how):
    found = scores(jevbench.from_callable(answer, name="ours"), **how)
    assert len(found) >= 7
    return {name: value for name, value in found.items() if value < 100}


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("reader", ["embedding and flat", "language model"])
def test_no_law_is_broken_whatever_the_weights(tiny, reader, suite):
    more = FLAT if reader == "embedding and flat" else ()
    assert broken(tiny[reader], suite=suite, relations=[*KEPT, *more]) == {}


@pytest.mark.parametrize("reader", ["embedding and flat", "language model"])
def test_random_weights_take_sides(tiny, reader):
    """Else all laws would hold because every answer is the same."""
    wire = {"type": "choice", "instructions": "What about?", "criteria": dict.fromkeys("abcd")}
    sides = [tiny[reader](state, {"q": wire})["q"]["probabilities"] for state in ("A parcel.", "The rain!")]
    assert max(max(one.values()) - min(one.values()) for one in sides) > 0.2


def test_the_shipped_encoder_breaks_none(shipped):
    answer = answers_of(Readers(shipped.reading))
    assert broken(answer, suite="examples", relations=[*KEPT, *FLAT]) == {}
    assert broken(answer, suite="jevbench-mini", relations=KEPT, domains=["logistics"]) == {}


def test_trained_heads_break_none_on_their_own_questions(shipped):
    cases, criteria = head_cases(jevbench, 1)
    answer = answers_of(shipped, criteria)
    found = {answer(case.state, case.questions)["own"]["x_reader"] for case in cases}
    assert found == {f"head:{head.label}" for head in shipped.heads}
    assert broken(answer, cases=cases, relations=SAME_WORDING) == {}


# What a bad reader looks at, and the laws that must find it out.
LEAKS = {
    "companions": ("batch_solo", "batch_content", "batch_size_sweep"),
    "place": ("batch_order", "duplicate_question"),
    "id": ("key_rename", "key_instruction_conflict", "duplicate_question"),
    "name of an option": ("option_rename", "name_description_conflict", "description_swap"),
    "place of an option": ("option_permutation", "clone_symmetry"),
}


def crooked(leak):
    """A reader that takes sides by the words of question and option, and by one thing it should not see."""

    def weight(*seen):
        return 1 + zlib.crc32(repr(seen).encode()) % 9

    def answer(state, wires):
        found = {}
        for place, (key, wire) in enumerate(wires.items()):
            others = sorted(str(one) for name, one in wires.items() if name != key)
            leaked = {"companions": others, "place": place, "id": key}.get(leak)
            if wire["type"] == "noul":
                found[key] = {"type": "noul", "noul": weight(wire["instructions"], leaked) / 10}
                continue
            options = wire["criteria"]
            named = list(options.items() if wire["type"] == "choice" else enumerate(options))
            weights = {}
            for n, (name, text) in enumerate(named):
                own = {"name of an option": name, "place of an option": n}.get(leak)
                weights[str(name)] = weight(text, leaked, own)
            whole = sum(weights.values())
            shares = {name: one / whole for name, one in weights.items()}
            found[key] = {"type": wire["type"], "probabilities": shares}
        return found

    return answer


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_reader_that_sees_what_it_should_not_is_found_out(leak, suite):
    model = jevbench.from_callable(crooked(leak), name=leak)
    found = scores(model, suite=suite, relations=LEAKS[leak])
    assert sorted(found) == sorted(LEAKS[leak])
    assert [name for name, value in found.items() if value == 100] == []


@pytest.mark.parametrize("suite", SUITES)
def test_the_same_reader_without_a_leak_is_not(suite):
    laws = sorted({law for leak in LEAKS.values() for law in leak})
    assert broken(crooked(None), suite=suite, relations=laws) == {}


@pytest.mark.parametrize("suite", SUITES)
def test_the_biased_model_of_the_suite_is_found_out(suite):
    found = scores(jevbench.fake("biased"), suite=suite, relations=KEPT)
    wanted = ("batch_size_sweep", "duplicate_question", "key_instruction_conflict", "option_permutation")
    assert [name for name in (*wanted, "clone_symmetry") if found[name] == 100] == []
