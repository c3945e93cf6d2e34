"""The torch worker's runner for System 1: asks of the wire in, bodies of the wire out."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog
import torch

from judgments import options, strict_json
from judgments.ml import artifacts, encoders
from judgments.ml.encoding import Reading, TooLong
from judgments.ml.readers import Answered, Readers
from judgments.questions import Ask
from judgments.typed import to_wire, typed_answer
from judgments.wire import parse_request
from judgments.wire_errors import WireError
from synth.inference.runners import Answer
from synth.inference.wire import Problem

THREADS = 2
log = structlog.get_logger(__name__)


class Runner:
    """Loads the encoder and the heads once; answers batches."""

    keep_alive_s = 600.0

    def __init__(self) -> None:
        self.readers: Readers | None = None
        self.model = ""

    def load(self) -> None:
        """The default encoder, or the English one where that is all there is. NotInstalled without both."""
        torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
        try:
            encoder = encoders.load_e5()
        except encoders.NotInstalled:
            encoder = encoders.load_minilm()
        heads = list(_heads())
        self.readers = Readers(Reading(encoder), heads, _language_model())
        parts = [head.label for head in self.readers.heads]
        if self.readers.causal is not None:
            parts.append(self.readers.causal.name)
        versions = ",".join(sorted(parts))
        self.model = f"synth-systemone@{hashlib.sha256((encoder.name + versions).encode()).hexdigest()[:8]}"
        self.readers.reading.read(["warm up"])

    def unload(self) -> None:
        """Forget everything; the memory goes back to the system."""
        self.readers = None
        gc.collect()

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Answer]:
        """One body a payload `{"ask": JSON of the wire}`; a Problem for one that is too long or no ask."""
        if self.readers is None:
            self.load()
        readers = self.readers
        assert readers is not None
        asks: list[Ask | Problem] = [_read(payload) for payload in batch]
        sizes: dict[int, int] = {}
        for n, ask in enumerate(asks):
            if isinstance(ask, Ask):
                try:
                    sizes[n] = readers.tokens(ask.state, ask.questions)
                except TooLong as error:
                    text = f"At most {error.limit} tokens are read; this one has {error.found}."
                    asks[n] = Problem("max_tokens_exceeded", text, error.limit, error.found)
        asked = [(ask.state, q) for ask in asks if isinstance(ask, Ask) for q in ask.questions]
        found = iter(readers.answer(asked))
        return [
            ask
            if isinstance(ask, Problem)
            else self._body(ask, [next(found) for _ in ask.questions], sizes[n])
            for n, ask in enumerate(asks)
        ]

    def _body(self, ask: Ask, answered: Sequence[Answered], n_tokens: int) -> dict[str, Any]:
        answers = {}
        for question, one in zip(ask.questions, answered, strict=True):
            extras = {"x_reader": one.reader, "x_calibrated": one.is_calibrated}
            answers[question.id] = to_wire(typed_answer(question, one.numbers), extras)
        return {
            "model": self.model,
            "answers": answers,
            "usage": {"input_tokens": n_tokens, "output_tokens": 0},
        }


def _read(payload: dict[str, Any]) -> Ask | Problem:
    try:
        return parse_request(strict_json.loads(payload["ask"]))
    except (WireError, ValueError, KeyError, TypeError) as error:
        return Problem("refused", str(error)[:200])


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
    for family, data in {**artifacts.shipped(), **training.active()}.items():
        try:
            found.append(artifacts.loads(data))
        except artifacts.BadArtifact as error:
            log.warning("head_not_loaded", family=family, error=str(error))
    return found
