"""What the worker loop runs: the shape of a runner, and the model-free twin that tests and benches use."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Generator, Sequence
from typing import Any, Protocol

from synth.inference.wire import Problem

Answer = dict[str, Any] | Problem


class Runner(Protocol):
    """Answers asks of one kind. An exception fails the batch, which is then tried one by one.

    `keep_alive_s` is how long it stays without an ask, 0: for ever. One that takes memory worth counting says
    as `needs_mib` how much `load` will take.
    """

    keep_alive_s: float

    def load(self) -> None:
        """Bring the model into memory and warm it up; called again after `unload`."""
        ...

    def unload(self) -> None:
        """Give the memory back."""
        ...

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Answer]:
        """One answer a payload, in order."""
        ...


class Streaming(Runner, Protocol):
    """A runner of a kind in `wire.STREAMED`: it answers one ask at a time, in steps."""

    def stream(self, payload: dict[str, Any]) -> Generator[str, None, Answer]:
        """The words as they come, "" for a step without any; its return value is the answer.

        Between two steps the worker looks after other asks, and may close the generator.
        """
        ...


class Stub:
    """The twin without a model: `{"echo": payload, "n": batch size}`, streamed the words of the last message.

    A payload may ask for trouble: `poison` raises, `die` kills the process, `sleep_ms` takes that long (of a
    stream each step); in a stream, the first two happen after the second word.
    """

    keep_alive_s = 0.0
    needs_mib = 0

    def __init__(self) -> None:
        self.is_loaded = False
        self.n_runs = 0

    def load(self) -> None:
        """Nothing to load."""
        self.is_loaded = True

    def unload(self) -> None:
        """Nothing to give back."""
        self.is_loaded = False

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Answer]:
        """Echoes; the batch takes as long as its slowest payload."""
        self.n_runs += 1
        if any(payload.get("die") for payload in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(max(payload.get("sleep_ms", 0) for payload in batch) / 1000)
        if any(payload.get("poison") for payload in batch):
            raise ValueError("poison")
        return [{"echo": payload, "n": len(batch), "run": self.n_runs} for payload in batch]

    def stream(self, payload: dict[str, Any]) -> Generator[str, None, Answer]:
        """The last message, word by word."""
        words = re.findall(r"\s*\S+", payload["messages"][-1]["content"])
        for n, word in enumerate(words[: payload["max_tokens"]]):
            time.sleep(payload.get("sleep_ms", 0) / 1000)
            if n == 2 and payload.get("die"):
                os.kill(os.getpid(), signal.SIGKILL)
            if n == 2 and payload.get("poison"):
                raise ValueError("poison")
            yield word
        finish = "length" if len(words) > payload["max_tokens"] else "stop"
        n_said = min(len(words), payload["max_tokens"])
        return said("stub", finish, n_prompt=len(words), n_completion=n_said)


def said(model: str, finish: str, *, n_prompt: int, n_completion: int) -> dict[str, Any]:
    """The answer that ends a stream; the words came before it."""
    return {
        "model": model,
        "finish_reason": finish,
        "n_prompt_tokens": n_prompt,
        "n_completion_tokens": n_completion,
    }
