"""A head for a score learns with a loss that knows near levels from far ones, and serves like any other."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

import torch  # noqa: E402

from judgments.ml import artifacts, making, training  # noqa: E402
from judgments.ml.readers import Readers  # noqa: E402
from judgments.ml.rendering import Fields  # noqa: E402
from judgments.tests.ml.kit import question, reading  # noqa: E402
from judgments.typed import expected_score  # noqa: E402
from synth.errors import Invalid  # noqa: E402

LEVELS = ["calm", "cross", "angry", "furious"]
SCORE = {"type": "score", "instructions": "How angry is it?", "criteria": LEVELS}
NAME = "shop.anger"


def graded(n: int) -> list[dict[str, Any]]:
    """Texts with more exclamation marks the angrier they are; every label in two spellings."""
    rng = random.Random(5)
    rows = []
    for _ in range(n):
        level = rng.randrange(4)
        words = " ".join(rng.choice(["parcel", "late", "box", "door", "again"]) for _ in range(2))
        label = level if rng.random() < 0.5 else LEVELS[level]
        rows.append({"state": {"text": words + "!" * (8 * level), "shop": "north"}, "label": label})
    return rows


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    file = tmp_path_factory.mktemp("rows") / "labelled.jsonl"
    file.write_text("\n".join(map(json.dumps, graded(160))))
    torch.manual_seed(1)
    return making.make(NAME, question(SCORE), n_rows=500, rows_file=file, reading=reading())


def test_it_is_nearer_than_the_flat_answer_and_than_the_best_constant(made):
    numbers = made.metrics
    assert numbers["n_test"] > 20 and numbers["rows"] == "labelled.jsonl"
    assert numbers["distance"] < 0.7  # flat: 1.0 on even labels
    assert numbers["accuracy"] > numbers["majority"] + 0.15
    assert "auroc" not in numbers


def test_it_answers_the_question_it_was_trained_on(made):
    found = reading()
    readers = Readers(found, [artifacts.loads(made.data)])
    assert readers.heads[0].fields == Fields(("text", "shop"))
    state = {"text": "parcel late" + "!" * 24, "shop": "north"}
    calm = {"text": "parcel late", "shop": "north"}
    high, low = readers.answer([(state, question(SCORE)), (calm, question(SCORE))])
    assert high.reader.startswith("head:shop.anger@")
    by_level: list[Any] = [high.numbers, low.numbers]
    assert expected_score(by_level[0]) > 2 > 1 > expected_score(by_level[1])
    (other,) = readers.answer([({"text": "no shop"}, question(SCORE))])
    assert other.reader == "flat"


def test_levels_in_another_order_are_another_question(made):
    readers = Readers(reading(), [artifacts.loads(made.data)])
    turned = question({**SCORE, "criteria": LEVELS[::-1]})
    (found,) = readers.answer([({"text": "x", "shop": "y"}, turned)])
    assert found.reader == "flat"


def test_a_near_level_costs_less_than_a_far_one():
    logits = torch.tensor([[9.0, 0.0, 0.0, 0.0]])
    near, far = (float(training.ordinal_loss(logits, torch.tensor([n]))) for n in (1, 3))
    assert 0 < near < far


def test_a_whole_text_is_read_where_states_have_no_parts(tmp_path):
    file = tmp_path / "plain.jsonl"
    rows = [{"state": str(row["state"]), "label": row["label"]} for row in graded(60)]
    file.write_text("\n".join(map(json.dumps, rows)))
    found = making.make(NAME, question(SCORE), n_rows=0, rows_file=file, reading=reading())
    assert artifacts.loads(found.data).fields == Fields(())


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (['{"state": "x", "label": 1}', '{"state": "x", "label": 7}'], "line 2: the label '7' is none of"),
        (['{"state": "x"}'], "line 1: 'label'"),
        (["[1]"], "line 1"),
        (["{"], "line 1"),
        (['{"state": "x", "label": "calm"}', '{"state": "y", "label": null}'], "1 labelled rows; 20 are"),
    ],
)
def test_rows_that_cannot_be_trained_on_are_refused_by_line(tmp_path, lines, says):
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines))
    with pytest.raises(Invalid, match=says):
        making.make(NAME, question(SCORE), n_rows=0, rows_file=file, reading=reading())
    with pytest.raises(Invalid, match="cannot be read"):
        making.labelled(NAME, tmp_path / "missing.jsonl", question(SCORE))
