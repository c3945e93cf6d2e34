"""A tiny encoder with random weights, so that readers are tested without any package's model."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # tiny models: threads that wait for each other cost more than they do
tokenizers = pytest.importorskip("tokenizers")

from judgments.ml.bert import Bert, Shape  # noqa: E402
from judgments.ml.encoders import Encoder  # noqa: E402
from judgments.ml.encoding import Reading  # noqa: E402
from judgments.questions import Question, read_question  # noqa: E402


def reading() -> Reading:
    """Bytes as tokens, two layers, the same weights each time."""
    torch.manual_seed(3)
    pieces = {chr(n): n for n in range(256)}
    model = tokenizers.models.WordLevel(pieces, unk_token="?")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    bert = Bert(Shape(hidden=32, layers=2, heads=2, intermediate=64, vocabulary=256, positions=512)).eval()
    return Reading(Encoder("tiny", bert, tokenizer, str, 1, 2, 0, "q: ", 512))


def question(wire: dict[str, Any]) -> Question:
    """A question of the wire."""
    found, problems = read_question("q", wire)
    assert found is not None, problems
    return found
