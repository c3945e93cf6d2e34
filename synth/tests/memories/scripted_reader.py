"""The real serving loop of the torch worker with an encoder that knows a few words in several languages."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from synth.inference import queue
from synth.inference.runners import Answer
from synth.inference.worker import Serving
from synth.recall import meaning
from synth.recall.meaning import Meaning
from synth.services import meanings
from synth.tests.inference.serving import clear

MODEL = "words/1"
SENSES = (
    ("heron", "reiher", "サギ", "grey fisher"),
    ("tea", "tee", "お茶", "hot leaves"),
    ("boat", "boot", "лодка"),
    ("lamp", "lampe", "light"),
)


def vector(text: str) -> bytes:
    """Of length one: a number for each sense the text has; texts without any share a place of their own."""
    numbers = [0.0] * meaning.DIMS
    for n, names in enumerate(SENSES):
        if any(name in text.casefold() for name in names):
            numbers[n] = 1.0
    if not any(numbers):
        numbers[-1] = 1.0
    length = sum(numbers) ** 0.5
    return meaning.pack([number / length for number in numbers])


def answer(texts: Sequence[str], model: str = MODEL) -> dict[str, Any]:
    """As the worker gives it."""
    return {"model": model, "vectors": [base64.b64encode(vector(text)).decode() for text in texts]}


def means(text: str, model: str = MODEL) -> Meaning:
    """The meaning that the worker would answer."""
    return Meaning(model, vector(text))


class Reader:
    """What the loop runs: answers by `script`, and keeps what it was asked, by side."""

    keep_alive_s = 0.0
    needs_mib = 0

    def __init__(self, script: Callable[[Sequence[str]], Any] = answer) -> None:
        self.script = script
        self.asked: list[tuple[str, list[str]]] = []

    def load(self) -> None:
        """Nothing to load."""

    def unload(self) -> None:
        """Nothing to give back."""

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Answer]:
        """One answer a payload."""
        self.asked += [(one["side"], list(one["texts"])) for one in batch]
        return [self.script(one["texts"]) for one in batch]

    def texts(self, side: str) -> list[str]:
        """Every text that was asked about."""
        return [text for asked, texts in self.asked if asked == side for text in texts]


@contextmanager
def reading(script: Callable[[Sequence[str]], Any] = answer) -> Iterator[Reader]:
    """A worker that serves inside the block."""
    forget()
    reader, stop = Reader(script), threading.Event()
    thread = threading.Thread(target=Serving({meanings.KIND: partial(_itself, reader)}, stop).serve)
    thread.start()
    end = time.monotonic() + 20
    while not queue.is_served() and time.monotonic() < end:
        time.sleep(0.02)
    try:
        yield reader
    finally:
        stop.set()
        thread.join(20)
        forget()


def _itself(reader: Reader) -> Reader:
    return reader


def forget() -> None:
    """No asks, no signs of life, no model seen, nobody quiet."""
    clear()
    queue.client().delete(meanings.MODEL_KEY)
    meanings._quiet_until, meanings._seen = 0.0, ""
    meanings._begun.set(None)


@pytest.fixture
def reader() -> Iterator[Reader]:
    """A worker that knows the words."""
    with reading() as found:
        yield found
