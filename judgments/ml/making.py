"""From rows to the bytes of a head: what the commands `train` and `calibrate` run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgments import heads
from judgments.ml import artifacts, encoders, generated, measured, training
from judgments.ml.encoding import Reading
from judgments.ml.rendering import FIELDS, OPEN_OPTIONS, Fields, common_fields, option_texts, question_key
from judgments.questions import Question
from synth.errors import Invalid

KEPT_TEXTS = 50_000
LEAST_ROWS = 20
Say = Callable[[str], None]


@dataclass(frozen=True)
class Made:
    """A head as bytes, with its numbers."""

    data: bytes
    metrics: dict[str, Any]


def make(
    name: str,
    question: Question,
    *,
    n_rows: int,
    rows_file: Path | None = None,
    say: Say = lambda _: None,
    reading: Reading | None = None,
) -> Made:
    """Train a head on `n_rows` generated rows, where there is a generator, and on those of the file.

    A quarter of both is for the test. Invalid for a bad line of the file, and for fewer than 20 rows.
    """
    rows = generated.rows(name, n_rows) if name in generated.families() else []
    of = ["generated"] if rows else []
    if rows_file is not None:
        rows = rows + labelled(name, rows_file, question)
        of.append(rows_file.name)
    if len(rows) < LEAST_ROWS:
        raise Invalid(
            f"{name}: {len(rows)} labelled rows; {LEAST_ROWS} are the least to train on.", field="file"
        )
    reading = reading or Reading(encoders.load_e5(), kept=KEPT_TEXTS)
    say(f"{name}: {len(rows)} rows")
    fields = fields_of(name, rows)
    trained = training.train(name, question, rows, reading, fields)
    key = question_key(question, with_options=name not in OPEN_OPTIONS)
    numbers = trained.metrics | {"encoder": reading.encoder.name, "rows": " and ".join(of)}
    own = None if name in FIELDS else fields
    data = artifacts.dumps(name, key, reading.encoder.name, trained.head, numbers, own)
    return Made(data, numbers)


def fields_of(name: str, rows: Sequence[generated.Row]) -> Fields:
    """What a head of this judgment reads: its own parts, else those that all rows have."""
    return FIELDS.get(name) or common_fields([row.state for row in rows])


def calibrate(
    name: str, question: Question, rows_file: Path, data: bytes | None, *, say: Say = lambda _: None
) -> Made:
    """The same head with another temperature. Invalid without a head to begin with, or for a bad line."""
    data = data or heads.shipped().get(name)
    if data is None:
        raise Invalid(f"There is no head for {name} yet; train one first.")
    artifact = artifacts.loads(data)
    rows = labelled(name, rows_file, question)
    reading = Reading(encoders.load_e5())
    found = training.examples(rows, question, reading, artifact.fields)
    if not found:
        raise Invalid(f"{rows_file.name} has no row with {', '.join(artifact.fields.names)}.", field="file")
    say(f"{name}: {len(found)} labelled rows")
    temperature, outcomes = training.calibrated(artifact.head, found, question, reading)
    numbers = artifact.about.metrics | measured.metrics(outcomes, is_score=question.type == "score")
    numbers |= {"temperature": round(temperature, 3), "calibrated_on": rows_file.name}
    own = None if name in FIELDS else artifact.fields
    return Made(
        artifacts.dumps(name, artifact.about.key, artifact.about.encoder, artifact.head, numbers, own),
        numbers,
    )


def labelled(name: str, file: Path, question: Question) -> list[generated.Row]:
    """Rows of JSON lines `{"state", "label", "options"?, "language"?}`.

    A label is an option's name, true or false, a level's number or its text; lines whose label is null are
    passed over. Invalid names the first bad line.
    """
    try:
        # Not splitlines: texts may hold other ends of lines, which JSON leaves as they are.
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}", field="file") from None
    rows = []
    for n, line in enumerate(lines, 1):
        try:
            row = _row(name, json.loads(line), question) if line.strip() else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Invalid(f"{file.name}, line {n}: {error}", field="file") from None
        if row is not None:
            rows.append(row)
    return rows


def _row(name: str, found: dict[str, Any], question: Question) -> generated.Row | None:
    if found["label"] is None:
        return None
    options = found.get("options") or {}
    asked = Question(question.id, "choice", question.instructions, options) if options else question
    label = _label(found["label"], asked)
    group = json.dumps(found["state"], sort_keys=True)
    is_test = generated.is_test(group)
    return generated.Row(name, found["state"], label, options, is_test, found.get("language", "en"), group)


def _label(label: Any, question: Question) -> str:
    """The option that a label means. ValueError when it is none."""
    text = str(label).lower() if isinstance(label, bool) else str(label)
    names = [name for name, _ in option_texts(question)]
    if question.type == "score" and text in question.criteria:
        text = str(question.criteria.index(text))
    if text not in names:
        raise ValueError(f"the label {text[:60]!r} is none of {', '.join(names)[:200]}")
    return text
