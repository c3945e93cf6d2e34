"""The heads in the repository answer the questions as they are worded today, and are small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgments.ml.rendering import OPEN_OPTIONS, question_key
from judgments.services.training import question_of, trainable

FOLDER = Path(__file__).resolve().parents[2] / "data" / "heads"
FILES = sorted(FOLDER.glob("*.safetensors"))


def said(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    n = int.from_bytes(data[:8], "little")
    found: dict[str, Any] = json.loads(data[8 : 8 + n])["__metadata__"]
    return found


def test_every_trainable_judgment_ships_a_head():
    assert [path.stem for path in FILES] == trainable()


def test_all_together_are_at_most_8_mb():
    assert sum(path.stat().st_size for path in FILES) <= 8_000_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_head_was_trained_on_todays_wording(path):
    name = said(path)["family"]
    assert name == path.stem
    assert said(path)["key"] == question_key(question_of(name), with_options=name not in OPEN_OPTIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_card_has_the_heads_own_numbers(path):
    numbers = json.loads(said(path)["metrics"])
    row = next(
        line
        for line in (FOLDER / "README.md").read_text().splitlines()
        if line.startswith(f"| `{path.stem}`")
    )
    for key in ("n_train", "n_test", "accuracy", "majority", "brier", "ece"):
        assert f" {numbers[key]} " in row, key
