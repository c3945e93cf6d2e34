"""From rows to the bytes of a head: what the commands `train` and `calibrate` run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgments.ml import artifacts, encoders, generated, measured, training
from judgments.ml.encoding import Reading
from judgments.ml.rendering import OPEN_OPTIONS, question_key
from judgments.questions import Question

KEPT_TEXTS = 50_000
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
    """Train a head on `n_rows` generated rows and those of the file; a quarter of both is for the test."""
    reading = reading or Reading(encoders.load_e5(), kept=KEPT_TEXTS)
    rows = generated.rows(name, n_rows)
    if rows_file is not None:
        rows += labelled(name, rows_file)
    say(f"{name}: {len(rows)} rows")
    trained = training.train(name, question, rows, reading)
    key = question_key(question, with_options=name not in OPEN_OPTIONS)
    numbers = trained.metrics | {"encoder": reading.encoder.name, "rows": "generated"}
    if rows_file is not None:
        numbers["rows"] = f"generated and {rows_file.name}"
    data = artifacts.dumps(name, key, reading.encoder.name, trained.head, numbers)
    return Made(data, numbers)


def calibrate(
    name: str, question: Question, rows_file: Path, data: bytes | None, *, say: Say = lambda _: None
) -> Made:
    """The same head with another temperature. BadArtifact without one to begin with."""
    data = data or artifacts.shipped().get(name)
    if data is None:
        raise artifacts.BadArtifact(f"no head for {name} yet; train one first")
    artifact = artifacts.loads(data)
    reading = Reading(encoders.load_e5())
    rows = labelled(name, rows_file)
    found = training.examples(rows, question, reading)
    say(f"{name}: {len(found)} labelled rows")
    temperature, outcomes = training.calibrated(artifact.head, found, question, reading)
    numbers = artifact.metrics | measured.metrics(outcomes) | {"temperature": round(temperature, 3)}
    return Made(artifacts.dumps(name, artifact.key, artifact.encoder, artifact.head, numbers), numbers)


def labelled(name: str, file: Path) -> list[generated.Row]:
    """Rows of JSON lines `{"state", "label", "options"?}`; a label true or false is a noul's."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        found = json.loads(line)
        label = found["label"]
        text = str(label).lower() if isinstance(label, bool) else str(label)
        group = json.dumps(found["state"], sort_keys=True)
        is_test = generated.is_test(group)
        rows.append(generated.Row(name, found["state"], text, found.get("options", {}), is_test, group=group))
    return rows
