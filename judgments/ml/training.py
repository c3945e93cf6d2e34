"""Trains one head on generated (and, where given, labelled) rows and says how good it is on rows kept apart.

Listwise cross-entropy over the options; for a score the squared distance of the cumulative distributions is
added, so that a near level costs less than a far one. The encoder is frozen.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from judgments.ml import measured
from judgments.ml.encoding import Reading
from judgments.ml.generated import Row
from judgments.ml.head import Head, Seen, prepare
from judgments.ml.rendering import Fields, field_texts, option_texts, plain
from judgments.questions import Question

EPOCHS, BATCH, RATE, DECAY, SMOOTHING, FOLDS = 16, 32, 2e-3, 0.1, 0.02, 4
Logits = tuple[Tensor, Tensor]  # of one row, and its label


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


def examples(rows: Sequence[Row], question: Question, reading: Reading, fields: Fields) -> list[Example]:
    """Rows read by the encoder. Rows without the fields are left out."""
    found: list[Example] = []
    hidden = reading.encoder.bert.shape.hidden
    for start in range(0, len(rows), 64):
        chunk = rows[start : start + 64]
        texts = [field_texts(row.state, fields) for row in chunk]
        flat = [text for parts in texts for entries in parts or [] for text in entries]
        named = [_options(row, question) for row in chunk]
        read = reading.read([*flat, *(text for options in named for _, text in options)], keep=True)
        for row, parts, options in zip(chunk, texts, named, strict=True):
            if parts is None:
                continue
            names = [name for name, _ in options]
            vectors = torch.stack([read[text].mean for _, text in options])
            seen = prepare(parts, read, fields.pair_places, hidden)
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
    fields: Fields,
    *,
    seed: int = 7,
    epochs: int = EPOCHS,
) -> Trained:
    """A head, its temperature fitted across folds of the training rows, measured on the test rows."""
    torch.manual_seed(seed)
    rng = random.Random(seed)  # noqa: S311 - reproducible training
    started = time.monotonic()
    found = examples(rows, question, reading, fields)
    tests = [example for example in found if example.row.is_test]
    rest = [example for example in found if not example.row.is_test]
    asked = _asked(question, reading)
    is_score = question.type == "score"

    def fitted(used: list[Example]) -> Head:
        made = Head(reading.encoder.bert.shape.hidden, fields.n)
        fit(made, used, asked, rng, epochs, is_score=is_score)
        return made

    unseen: list[Logits] = []
    for kept, used in _folds(rest, rng):
        unseen += _logits(fitted(used), kept, asked)
    head = fitted(rest)
    head.temperature.fill_(_temperature(unseen))
    about = {"n_train": len(rest), "seconds": round(time.monotonic() - started)}
    found_right = measured.metrics(outcomes(head, tests, question, reading), is_score=is_score)
    numbers = {"temperature": round(float(head.temperature), 3)}
    return Trained(family, head, about | found_right | numbers)


def calibrated(
    head: Head, found: Sequence[Example], question: Question, reading: Reading
) -> tuple[float, list[measured.Outcome]]:
    """The head's temperature fitted anew, in place, on these rows; the temperature and the outcomes."""
    head.temperature.fill_(1.0)
    head.temperature.fill_(_temperature(_logits(head, found, _asked(question, reading))))
    return float(head.temperature), outcomes(head, found, question, reading)


def outcomes(
    head: Head, found: Sequence[Example], question: Question, reading: Reading
) -> list[measured.Outcome]:
    """What the head answers to each row, beside what was right."""
    asked = _asked(question, reading)
    with torch.inference_mode():
        return [
            measured.Outcome(
                e.row.label,
                e.row.language,
                head([e.seen], asked, e.options[None])[0].softmax(-1).tolist(),
                e.label,
            )
            for e in found
        ]


def _asked(question: Question, reading: Reading) -> Tensor:
    text = plain(question.instructions or "")
    return reading.read([text], keep=True)[text].mean


def _folds(rest: list[Example], rng: random.Random) -> list[tuple[list[Example], list[Example]]]:
    """(kept, used) of each fold; a phrase is never in both, so that the temperature suits unseen ones."""
    groups = sorted({example.row.group for example in rest})
    rng.shuffle(groups)
    places = {group: n % FOLDS for n, group in enumerate(groups)}
    return [
        (
            [e for e in rest if places[e.row.group] == fold],
            [e for e in rest if places[e.row.group] != fold],
        )
        for fold in range(FOLDS if len(groups) >= FOLDS else 0)
    ]


@contextmanager
def _one_thread() -> Iterator[None]:
    """A head's steps are so small that threads wait for each other: two took three times as long as one."""
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n)


def fit(
    head: Head, used: list[Example], asked: Tensor, rng: random.Random, epochs: int, *, is_score: bool = False
) -> None:
    """Train the head in place; it is in evaluation mode afterwards."""
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    n_steps = epochs * len(_batches(used, random.Random(0)))  # noqa: S311 - only counted
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=max(2, n_steps) + 1)
    head.train()
    with _one_thread():
        _steps(head, used, asked, rng, epochs, optimizer, schedule, is_score=is_score)
    head.eval()


def _steps(
    head: Head,
    used: list[Example],
    asked: Tensor,
    rng: random.Random,
    epochs: int,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    *,
    is_score: bool,
) -> None:
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


def _logits(head: Head, found: Sequence[Example], asked: Tensor) -> list[Logits]:
    with torch.inference_mode():
        return [(head([e.seen], asked, e.options[None])[0], torch.tensor(e.label)) for e in found]


def _temperature(rows: Sequence[Logits]) -> float:
    """The temperature, 0.5 to 8, with the least cross-entropy; 1 without rows."""

    def cost(temperature: float) -> float:
        return sum(float(functional.cross_entropy(row / temperature, label)) for row, label in rows)

    return min((0.5 * 1.1**n for n in range(30)), key=cost) if rows else 1.0
