"""Any causal language model answers by yes or no: in any order, shared or alone the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from judgments.ml.causal import MAX_TOKENS, CausalReader, load  # noqa: E402
from judgments.ml.causal_loading import unpack  # noqa: E402
from judgments.ml.encoding import TooLong  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.tests.ml.kit import question, reading  # noqa: E402
from synth.tests.llm.ml.tiny_model import llama  # noqa: E402

pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # on a busy machine, threads for so little only wait for each other
pytestmark = pytest.mark.torch

STATE = "The parcel has not arrived and nobody answers."
NOUL = {"type": "noul", "instructions": "Is the person angry?", "criteria": {"true": "They complain."}}
CHOICE: dict[str, Any] = {
    "type": "choice",
    "instructions": "What about?",
    "criteria": {"money": "Bills.", "post": None, "joy": "x"},
}
SCORE = {"type": "score", "instructions": "How urgent?", "criteria": ["not", "a bit", "very"]}


def tiny(places=8192):
    return llama(places, vocab_size=256, tie_word_embeddings=True)


class Letters:
    """A tokenizer of bytes."""

    bos_token_id = 1

    def encode(self, text, add_special_tokens=False):
        return [min(255, ord(letter)) for letter in text]


@pytest.fixture(scope="module")
def reader():
    return CausalReader(tiny(), Letters(), "tiny")


def flat(answers):
    return [p for one in answers for p in (one if isinstance(one, list) else [one])]


def test_questions_that_share_a_state_are_answered_as_alone(reader):
    asked = [question(wire) for wire in (NOUL, CHOICE, SCORE)]
    together = reader.answer(STATE, asked)
    alone = [reader.answer(STATE, [one])[0] for one in asked]
    assert together[0] == pytest.approx(alone[0], abs=1e-4)
    for a, b in zip(together[1:], alone[1:], strict=True):
        assert a == pytest.approx(b, abs=1e-4)
        assert sum(a) == pytest.approx(1)


def test_the_order_of_options_moves_nothing(reader):
    first = dict(zip(CHOICE["criteria"], reader.answer(STATE, [question(CHOICE)])[0], strict=True))
    for seed in range(4):
        names = random.Random(seed).sample(list(first), len(first))
        turned = question({**CHOICE, "criteria": {name: CHOICE["criteria"][name] for name in names}})
        found = dict(zip(names, reader.answer(STATE, [turned])[0], strict=True))
        assert found == pytest.approx(first, abs=1e-4)


def test_an_answer_is_the_same_alone_and_among_32_in_any_order(reader):
    asked = [question({**wire, "instructions": f"{n}?"}) for n in range(10) for wire in (NOUL, CHOICE, SCORE)]
    asked += [question(NOUL), question(SCORE)]
    alone = [reader.answer(STATE, [one])[0] for one in asked]
    for seed in range(3):
        order = random.Random(seed).sample(range(32), 32)
        fresh = CausalReader(tiny(), Letters(), "tiny")
        found = fresh.answer(STATE, [asked[n] for n in order])
        assert flat(found) == pytest.approx(flat(alone[n] for n in order), abs=1e-4)


def test_what_is_said_without_a_state_is_computed_once_a_question():
    reader = CausalReader(tiny(), Letters(), "tiny")
    seen = []
    reader.continuing.model.register_forward_hook(lambda *_: seen.append(1))
    asked = [question(wire) for wire in (NOUL, CHOICE, SCORE)]
    first = reader.answer(STATE, asked)
    cold = len(seen)
    assert reader.answer(STATE, asked) == first
    assert len(seen) - cold < cold


def test_many_questions_are_answered_though_few_are_remembered(reader, monkeypatch):
    monkeypatch.setattr("judgments.ml.causal.KEPT_PRIORS", 5)
    asked = [question({"type": "noul", "instructions": f"{n}?"}) for n in range(9)]
    alone = [reader.answer(STATE, [one])[0] for one in asked]
    assert reader.answer(STATE, asked) == pytest.approx(alone, abs=1e-4)


def test_it_answers_what_no_head_was_trained_for_and_says_so(reader):
    readers = Readers(reading(), causal=reader)
    found = readers.answer([(STATE, question(NOUL)), (STATE, question(CHOICE))])
    assert {(one.reader, one.is_calibrated) for one in found} == {("causal:tiny", False)}


def test_a_state_over_its_limit_is_refused(reader):
    with pytest.raises(TooLong, match=str(MAX_TOKENS)):
        Readers(reading(), causal=reader).tokens("x" * MAX_TOKENS, [question(NOUL)])


def test_long_instructions_are_refused_before_each_option_repeats_them(reader, monkeypatch):
    read = []
    tokens = reader._tokens

    def count(text):
        read.append(len(text))
        return tokens(text)

    monkeypatch.setattr(reader, "_tokens", count)
    options = {str(n): None for n in range(200)}
    for n_chars in (MAX_TOKENS + 1, 1_000_000):
        asked = {"type": "choice", "instructions": "x" * n_chars, "criteria": options}
        with pytest.raises(TooLong, match=str(MAX_TOKENS)):
            reader.check("short", [question(asked)])
    assert sum(read) < 10 * MAX_TOKENS


def test_no_text_is_longer_than_the_model_was_made_for():
    reader = CausalReader(tiny(places=200), Letters(), "tiny")
    with pytest.raises(TooLong, match="at most 200"):
        reader.check("x" * 150, [question(NOUL)])


def test_a_path_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no folder"):
        load(tmp_path / "missing.gguf")


def test_a_tokenizer_that_has_one_token_for_yes_and_no_is_refused():
    class Blind(Letters):
        def encode(self, text, add_special_tokens=False):
            return [7] * len(text)

    with pytest.raises(ValueError, match="yes from no"):
        CausalReader(tiny(), Blind(), "blind")


@pytest.fixture
def folder(tmp_path):
    """A model of letters as a folder."""
    tokenizers = pytest.importorskip("tokenizers")
    letters = tokenizers.models.WordLevel({chr(n): n for n in range(256)}, unk_token="?")  # noqa: S106
    tokenizer = tokenizers.Tokenizer(letters)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?")  # noqa: S106
    fast.save_pretrained(tmp_path / "from")
    tiny().save_pretrained(tmp_path / "from")
    return tmp_path / "from"


def test_an_unpacked_model_answers_as_before(folder, tmp_path):
    asked = [question(wire) for wire in (NOUL, CHOICE, SCORE)]
    unpack(folder, tmp_path / "to")
    found = load(tmp_path / "to")
    assert found.name == "to"
    assert flat(found.answer(STATE, asked)) == pytest.approx(
        flat(load(folder).answer(STATE, asked)), abs=1e-6
    )


def test_a_folder_with_something_in_it_is_not_written_over(folder):
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    with pytest.raises(ValueError, match="not empty"):
        unpack(folder, folder)
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == before


def test_what_a_killed_unpacking_left_makes_way(folder, tmp_path):
    (tmp_path / ".to.unfinished").mkdir()
    (tmp_path / ".to.unfinished" / "config.json").write_text("{")
    (tmp_path / "to").mkdir()
    unpack(folder, tmp_path / "to")
    assert load(tmp_path / "to").name == "to" and not (tmp_path / ".to.unfinished").exists()


def test_it_may_go_into_this_folder_and_behind_a_link(folder, tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    monkeypatch.chdir(tmp_path / "here")
    for given in (Path("."), tmp_path / "link"):
        unpack(folder, given)
    assert load(tmp_path / "here").name == "here" and load(tmp_path / "there").name == "there"


def test_the_command_says_what_is_broken_and_leaves_nothing(folder, tmp_path):
    from django.core.management import CommandError, call_command

    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    (tmp_path / "cut.gguf").write_bytes(b"GGUF")
    for broken in (folder, tmp_path / "cut.gguf"):
        with pytest.raises(CommandError, match="cannot be read as a model"):
            call_command("unpack_model", str(broken), str(tmp_path / "to"))
    assert not (tmp_path / "to").exists()


def test_the_command_says_what_is_no_model(tmp_path):
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match="no folder"):
        call_command("unpack_model", str(tmp_path / "missing.gguf"), str(tmp_path / "to"))
