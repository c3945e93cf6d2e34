"""Measures heads on rows that no head was trained, chosen or calibrated on.

Two sets a family, both in `judgments/data/heldout`: `generated` rows from seeds of their own, and `written`
ones that read like what people type. Looking at them while changing a head spends them: write new ones then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judgments.ml import artifacts, encoders, generated, making, measured, training
from judgments.ml.encoding import Reading
from judgments.questions import Question

FOLDER = generated.DATA / "heldout"
N_ROWS, SEED = 400, 2_026
Say = Callable[[str], None]


def held_out(name: str, question: Question) -> dict[str, list[generated.Row]]:
    """The rows of both sets of a family."""
    return {
        "generated": generated.rows(name, N_ROWS, SEED, source=generated.HELD_OUT),
        "written": making.labelled(name, FOLDER / f"{name}.jsonl", question),
    }


def evaluate(
    heads: Mapping[str, bytes],
    questions: Mapping[str, Question],
    *,
    rows_file: Path | None = None,
    say: Say = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """The numbers of each head, by set; those of the rows of a file instead where one is given."""
    reading = Reading(encoders.load_e5(), kept=making.KEPT_TEXTS)
    found = {}
    for name, data in heads.items():
        artifact = artifacts.loads(data)
        question = questions[name]
        sets = (
            {rows_file.name: making.labelled(name, rows_file, question)}
            if rows_file
            else held_out(name, question)
        )
        found[name] = {"version": artifact.about.version} | {
            of: numbers(artifact, rows, question, reading) for of, rows in sets.items()
        }
        say(f"{artifact.label}: measured")
    return found


def numbers(
    artifact: artifacts.Artifact, rows: list[generated.Row], question: Question, reading: Reading
) -> dict[str, Any]:
    """What a head gets right of these rows."""
    examples = training.examples(rows, question, reading, artifact.fields)
    outcomes = training.outcomes(artifact.head, examples, question, reading)
    return measured.metrics(outcomes, is_score=question.type == "score")
