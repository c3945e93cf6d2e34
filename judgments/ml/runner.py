"""The torch worker's runner for System 1: asks of the wire in, bodies of the wire out."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
import torch

from judgments import heads, options, strict_json
from judgments.ml import artifacts, encoders
from judgments.ml.embedding import Embedding
from judgments.ml.encoding import Reading, TooLong
from judgments.ml.readers import EMBEDDING, LANGUAGE_MODEL, Answered, CannotRead, Readers
from judgments.questions import Ask
from judgments.typed import to_wire, typed_answer
from judgments.wire import parse_request
from judgments.wire_errors import WireError
from synth.inference import specs
from synth.inference.runners import Answer
from synth.inference.wire import Problem

THREADS = 2
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Checked:
    """An ask that can be answered: by which reader ("": the best), and how many tokens it has."""

    ask: Ask
    only: str
    n_tokens: int


class Runner:
    """Loads the encoder and the heads once; answers batches of asks and of texts to be read as vectors."""

    keep_alive_s = 600.0

    def __init__(self) -> None:
        self.needs_mib = specs.picked().memory_mib + _language_model_mib()
        self.readers: Readers | None = None
        self.embedding: Embedding | None = None
        self.model = ""

    def load(self) -> None:
        """The default encoder, or the English one where that is all there is. NotInstalled without both."""
        torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
        try:
            encoder = encoders.load_e5()
        except encoders.NotInstalled:
            encoder = encoders.load_minilm()
        self.readers = Readers(Reading(encoder), _heads(), _language_model())
        self.embedding = Embedding(encoder)
        parts = [head.label for head in self.readers.heads]
        if self.readers.causal is not None:
            parts.append(self.readers.causal.name)
        versions = ",".join(sorted(parts))
        self.model = f"{heads.ALL}@{hashlib.sha256((encoder.name + versions).encode()).hexdigest()[:8]}"
        self.readers.reading.read(["warm up"])

    def unload(self) -> None:
        """Forget everything; the memory goes back to the system."""
        self.readers = self.embedding = None
        gc.collect()

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Answer]:
        """One body a payload `{"ask": JSON of the wire}`; a Problem for one that is too long or no ask.

        Payloads with `texts` are for `Embedding.run`; a batch has one kind of them.
        """
        if self.readers is None:
            self.load()
        readers = self.readers
        assert readers is not None
        if "texts" in batch[0]:
            assert self.embedding is not None
            return self.embedding.run(batch)
        asks = [self._checked(readers, payload) for payload in batch]
        good = [one for one in asks if isinstance(one, Checked)]
        asked = [(one.ask.state, q) for one in good for q in one.ask.questions]
        found = iter(readers.answer(asked, [one.only for one in good for _ in one.ask.questions]))
        return [
            one if isinstance(one, Problem) else self._body(one, [next(found) for _ in one.ask.questions])
            for one in asks
        ]

    def _checked(self, readers: Readers, payload: dict[str, Any]) -> Checked | Problem:
        """The ask with its reader and its size, or why it cannot be answered."""
        ask = _read(payload)
        if isinstance(ask, Problem):
            return ask
        try:
            only = self._reader(readers, ask.model)
            readers.check(ask.state, ask.questions, only)
            return Checked(ask, only, readers.tokens(ask.state, ask.questions))
        except CannotRead as error:
            return Problem("not_for_model", str(error))
        except TooLong as error:
            text = f"At most {error.limit} tokens are read; this one has at least {error.found}."
            return Problem("max_tokens_exceeded", text, error.limit, error.found)

    def _reader(self, readers: Readers, model: str) -> str:
        """The reader that a model's name means, "" for whichever is best. CannotRead when it isn't here.

        Names that aren't ours are those of hosts elsewhere, and mean all readers.
        """
        if not model.startswith(heads.MODEL_PREFIX) or model in (heads.ALL, self.model):
            return ""
        name, _, version = model.removeprefix(heads.MODEL_PREFIX).partition("@")
        for head in readers.heads:
            if head.family == name and version in ("", head.about.version):
                return name
        if model == heads.EMBEDDING or (model == heads.LANGUAGE_MODEL and readers.causal is not None):
            return EMBEDDING if model == heads.EMBEDDING else LANGUAGE_MODEL
        raise CannotRead(f"This server has no model {model[:100]}.")

    def _body(self, checked: Checked, answered: Sequence[Answered]) -> dict[str, Any]:
        ask = checked.ask
        answers = {}
        for question, one in zip(ask.questions, answered, strict=True):
            extras = {"x_reader": one.reader, "x_calibrated": one.is_calibrated}
            answers[question.id] = to_wire(typed_answer(question, one.numbers), extras)
        return {
            "model": self._said_model(checked.only, answered),
            "answers": answers,
            "usage": {"input_tokens": checked.n_tokens, "output_tokens": 0},
        }

    def _said_model(self, only: str, answered: Sequence[Answered]) -> str:
        """What answered, with its version: one head where one was asked for, else all readers."""
        reader = answered[0].reader
        if only and reader.startswith("head:"):
            return heads.MODEL_PREFIX + reader.removeprefix("head:")
        return {EMBEDDING: heads.EMBEDDING, LANGUAGE_MODEL: heads.LANGUAGE_MODEL}.get(only, self.model)


def _read(payload: dict[str, Any]) -> Ask | Problem:
    try:
        return parse_request(strict_json.loads(payload["ask"]))
    except (WireError, ValueError, KeyError, TypeError) as error:
        return Problem("refused", str(error)[:200])


def _language_model_mib() -> int:
    path = options.read(options.LANGUAGE_MODEL)
    return specs.unpacked_mib(Path(path)) if path else 0


def _language_model() -> Any:
    """The language model an operator named, or None; one that doesn't load is logged and left out."""
    path = options.read(options.LANGUAGE_MODEL)
    if not path:
        return None
    from judgments.ml import causal

    try:
        return causal.load(Path(path))
    except Exception as error:  # noqa: BLE001 - a foreign model must not stop the readers that work
        log.warning("language_model_not_loaded", path=path, error=str(error)[:300])
        return None


def _heads() -> list[artifacts.Artifact]:
    """The shipped heads, each replaced by the one trained here that an operator made active."""
    from judgments.services import training

    found = []
    for family, data in training.serving().items():
        try:
            found.append(artifacts.loads(data))
        except heads.BadHead as error:
            log.warning("head_not_loaded", family=family, error=str(error))
    return found
