"""Shipped heads answer today's questions about the states apps send; the card has their own numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from judgments import declared, heads
from judgments.ml import generated
from judgments.ml.rendering import FIELDS, OPEN_OPTIONS, field_texts, question_key
from judgments.services.training import question_of, trainable

FILES = sorted(heads.FOLDER.glob("*.safetensors"))
CARD = (heads.FOLDER / "README.md").read_text()
HELD_OUT = sorted((generated.DATA / "heldout").glob("*.jsonl"))


def test_every_trainable_judgment_ships_a_head():
    assert [path.stem for path in FILES] == trainable()


def test_all_together_are_at_most_8_mb():
    assert sum(path.stat().st_size for path in FILES) <= 8_000_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_head_was_trained_on_todays_wording(path):
    said = heads.said(path.read_bytes())
    assert said.family == path.stem
    key = question_key(question_of(said.family), with_options=said.family not in OPEN_OPTIONS)
    assert said.key == key


@pytest.mark.parametrize("name", declared.FIXTURES)
def test_a_head_reads_the_states_that_the_core_sends(name):
    texts = field_texts(declared.FIXTURES[name], FIELDS[name])
    assert texts is not None and all(texts)


def numbers_in(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|\n").split("|")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("of", ["generated", "written"])
def test_the_card_has_the_numbers_that_were_measured_on_this_very_head(path, of):
    measured = heads.held_out()[path.stem]
    assert measured["version"] == heads.version_of(path.read_bytes())
    rows = [numbers_in(line) for line in CARD.splitlines() if line.startswith(f"| `{path.stem}` | {of} ")]
    assert len(rows) == 1
    found = measured[of]
    wanted = [
        found.get(key, "–") for key in ("n_test", "accuracy", "majority", "auroc", "brier", "ece", "coverage")
    ]
    assert rows[0][2:] == [str(value) for value in wanted]


def test_calibrated_is_said_only_of_heads_whose_card_shows_it():
    for name, data in heads.shipped().items():
        ece = heads.held_out()[name]["written"]["ece"]
        assert heads.said(data).is_calibrated is (ece <= heads.MAX_ECE)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, found in value.items():
            yield key
            yield from texts_in(found)
    elif isinstance(value, list):
        for found in value:
            yield from texts_in(found)


def test_no_phrase_that_is_held_out_is_trained_on():
    options = {kit[0] for kit in generated.seeds()["kits"].values()}  # what a kit is stays the same
    trained = {text.lower().strip(" .!?") for text in texts_in(generated.seeds()) if len(text) > 12}
    held = {text for text in texts_in(generated.seeds(generated.HELD_OUT))}
    for path in HELD_OUT:
        for line in path.read_text().splitlines():
            held |= set(texts_in(json.loads(line)["state"]))
    assert len(held) > 1_000
    assert not {text.lower().strip(" .!?") for text in held - options} & trained


@pytest.mark.parametrize("path", HELD_OUT, ids=lambda path: path.stem)
def test_about_a_hundred_written_rows_of_every_family_are_held_out(path):
    labels = [json.loads(line)["label"] for line in path.read_text().splitlines()]
    assert len(labels) >= 90 and path.stem in trainable()
    assert max(map(labels.count, labels)) <= 0.6 * len(labels)


def test_every_family_has_rows_held_out():
    assert [path.stem for path in HELD_OUT] == trainable()
