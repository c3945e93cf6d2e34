"""Trains one head on generated (and, where given, labelled) rows and says how good it is on rows kept apart.

Listwise cross-entropy over the options; for a score the squared distance of the cumulative distributions is
added, so that a near level costs less than a far one. The encoder is frozen.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from judgments.ml import measured
from judgments.ml.encoding import Reading
from judgments.ml.generated import Row
from judgments.ml.head import Head, Seen, prepare
from judgments.ml.rendering import FIELDS, field_texts, option_texts, plain
from judgments.questions import Question

EPOCHS, BATCH, RATE, DECAY, SMOOTHING = 24, 32, 2e-3, 0.1, 0.02


@dataclass
class Trained:
    """A head with what was measured."""

    family: str
    head: Head
    metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """One row as tensors; `options` (options, hidden), `label` the index of the right one."""

    row: Row
    seen: Seen
    options: Tensor
    label: int


def examples(rows: Sequence[Row], question: Question, reading: Reading) -> list[Example]:
    """Rows read by the encoder. Rows without the family's fields are left out."""
    found: list[Example] = []
    hidden = reading.encoder.bert.shape.hidden
    for start in range(0, len(rows), 64):
        chunk = rows[start : start + 64]
        texts = [field_texts(row.state, FIELDS[row.family]) for row in chunk]
        flat = [text for fields in texts for entries in fields or [] for text in entries]
        named = [_options(row, question) for row in chunk]
        read = reading.read([*flat, *(text for options in named for _, text in options)], keep=True)
        for row, fields, options in zip(chunk, texts, named, strict=True):
            if fields is None:
                continue
            names = [name for name, _ in options]
            vectors = torch.stack([read[text].mean for _, text in options])
            seen = prepare(fields, read, FIELDS[row.family].pair_places, hidden)
            found.append(Example(row, seen, vectors, names.index(row.label)))
    return found


def _options(row: Row, question: Question) -> list[tuple[str, str]]:
    if row.options:
        question = Question(question.id, "choice", question.instructions, row.options)
    return option_texts(question)


def train(
    family: str,
    question: Question,
    rows: Sequence[Row],
    reading: Reading,
    *,
    seed: int = 7,
    epochs: int = EPOCHS,
) -> Trained:
    """A head, its temperature fitted on a tenth of the training rows, measured on the test rows."""
    torch.manual_seed(seed)
    rng = random.Random(seed)  # noqa: S311 - reproducible training
    started = time.monotonic()
    found = examples(rows, question, reading)
    tests = [example for example in found if example.row.is_test]
    rest = [example for example in found if not example.row.is_test]
    kept, used = _kept(rest, rng)
    text = plain(question.instructions or "")
    asked = reading.read([text], keep=True)[text].mean
    head = Head(reading.encoder.bert.shape.hidden, len(FIELDS[family].names))
    fit(head, used, asked, rng, epochs, is_score=question.type == "score")
    head.temperature.fill_(_temperature(head, kept, asked))
    outcomes = [
        measured.Outcome(e.row.label, e.row.language, p, e.label) for e, p in _answers(head, tests, asked)
    ]
    about = {"n_train": len(used), "seconds": round(time.monotonic() - started)}
    numbers = {"temperature": round(float(head.temperature), 3)}
    return Trained(family, head, about | measured.metrics(outcomes) | numbers)


def calibrated(
    head: Head, found: Sequence[Example], question: Question, reading: Reading
) -> tuple[float, list[measured.Outcome]]:
    """The head's temperature fitted anew, in place, on these rows; the temperature and the outcomes."""
    text = plain(question.instructions or "")
    asked = reading.read([text], keep=True)[text].mean
    head.temperature.fill_(1.0)
    head.temperature.fill_(_temperature(head, found, asked))
    outcomes = [
        measured.Outcome(e.row.label, e.row.language, p, e.label) for e, p in _answers(head, found, asked)
    ]
    return float(head.temperature), outcomes


def _kept(rest: list[Example], rng: random.Random) -> tuple[list[Example], list[Example]]:
    """A tenth for the temperature, by label and phrase as unlike the rest as can be had: whole states."""
    rest = rng.sample(rest, len(rest))
    return rest[: len(rest) // 10], rest[len(rest) // 10 :]


def fit(
    head: Head, used: list[Example], asked: Tensor, rng: random.Random, epochs: int, *, is_score: bool = False
) -> None:
    """Train the head in place; it is in evaluation mode afterwards."""
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    n_steps = epochs * len(_batches(used, random.Random(0)))  # noqa: S311 - only counted
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=max(2, n_steps) + 1)
    head.train()
    for _ in range(epochs):
        for batch in _batches(used, rng):
            logits = head([e.seen for e in batch], asked, torch.stack([e.options for e in batch]))
            labels = torch.tensor([e.label for e in batch])
            loss = functional.cross_entropy(logits, labels, label_smoothing=SMOOTHING)
            if is_score:
                loss = loss + ordinal_loss(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    head.eval()


def ordinal_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean squared distance of the cumulative distributions: a near level costs less than a far one."""
    wanted = functional.one_hot(labels, logits.shape[-1]).to(logits.dtype).cumsum(-1)
    return (logits.softmax(-1).cumsum(-1) - wanted).square().sum(-1).mean()


def _batches(found: list[Example], rng: random.Random) -> list[list[Example]]:
    """Shuffled batches whose rows have equally many options."""
    by_size: dict[int, list[Example]] = {}
    for example in rng.sample(found, len(found)):
        by_size.setdefault(len(example.options), []).append(example)
    batches = [group[n : n + BATCH] for group in by_size.values() for n in range(0, len(group), BATCH)]
    rng.shuffle(batches)
    return batches


def _answers(head: Head, found: Sequence[Example], asked: Tensor) -> list[tuple[Example, list[float]]]:
    with torch.inference_mode():
        return [(e, head([e.seen], asked, e.options[None])[0].softmax(-1).tolist()) for e in found]


def _temperature(head: Head, kept: Sequence[Example], asked: Tensor) -> float:
    """The temperature with the least cross-entropy on rows not trained on; never below 0.7.

    Those rows share phrases with the training rows, so that they call for more certainty than new ones bear.
    """
    if not kept:
        return 1.0
    with torch.inference_mode():
        rows = [(head([e.seen], asked, e.options[None])[0], torch.tensor(e.label)) for e in kept]

    def cost(temperature: float) -> float:
        return sum(float(functional.cross_entropy(row / temperature, label)) for row, label in rows)

    return min((0.7 * 1.1**n for n in range(24)), key=cost)
