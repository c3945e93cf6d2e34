"""The torch worker and the local readers: the way there and back, states, heads.

`python -m bench.systemone [--lm FILE.gguf]`. Without torch only the queue is measured. With `--lm` the causal
reader is measured on that file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import stores
from bench.timing import Line, measure, table

ROOT = Path(__file__).resolve().parents[1]
STATE = "The user wrote about the parcel that has not come yet, and asks what to do. "
N_QUESTIONS = 8


@contextmanager
def worker(*arguments: str) -> Iterator[None]:
    """A worker process that serves inside the block."""
    from synth.inference import queue

    command = [sys.executable, "manage.py", "inference_worker", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"LOG_LEVEL": "error"})
    try:
        while not queue.is_served():
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def the_way_there_and_back() -> list[Line]:
    """An ask to the twin without a model, alone and from 64 threads."""
    from synth.inference import queue

    def ask(n: int) -> None:
        queue.ask("stub", {"n": n}, deadline=time.time() + 20)

    with worker("--stub"):
        measure("", ask, range(20))
        alone = measure("one client, no model", ask, range(300))
        crowd = Line("64 clients at once, no model")

        def client(k: int) -> None:
            crowd.ms += measure("", ask, range(k * 1000, k * 1000 + 20)).ms

        threads = [threading.Thread(target=client, args=(k,)) for k in range(64)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        crowd.note = f"{len(crowd.ms) / (time.perf_counter() - start):.0f} asks/s"
    return [alone, crowd]


def readers() -> list[Line]:
    """The encoder's readers in this process: a head, one question, eight on one state; on one thread.

    In processor time, which is what a call takes on a core of its own.
    """
    torch: Any = __import__("torch")
    from judgments.ml.runner import Runner

    runner = Runner()
    runner.load()
    one: Any = runner.readers
    one.causal = None
    torch.set_num_threads(1)
    choice = _choices(1)[0]
    long = STATE * 6

    def single(n: int) -> None:
        one.answer([(f"{n} {long}", choice)])

    def together(n: int) -> None:
        one.answer([(f"{n} a {long}", question) for question in _choices(N_QUESTIONS)])

    def apart(n: int) -> None:
        for question in _choices(N_QUESTIONS):
            one.answer([(f"{n} b {long}", question)])

    for warm in (single, together):
        warm(-1)
    lines = [_pairs(one, "float32")]
    lines.append(measure("one choice, 128 tokens", single, range(12), clock=time.process_time))
    lines.append(measure("8 choices on one state of 128 tokens", together, range(8), clock=time.process_time))
    lines.append(measure("the same, one by one", apart, range(4), clock=time.process_time))
    lines[-1].note = f"{lines[-1].median / lines[-2].median:.1f} x the shared one"
    if torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported():
        encoder = one.reading.encoder
        one.reading.encoder = replace(encoder, bert=_Half(torch, encoder.bert))
        lines.insert(1, _pairs(one, "bfloat16"))
    return lines


class _Half:
    """An encoder that computes in bfloat16; what comes out is float32, as the heads take it."""

    def __init__(self, torch: Any, bert: Any) -> None:
        self.shape = bert.shape
        self._bert = bert.to(torch.bfloat16)

    def __call__(self, ids: Any, mask: Any) -> Any:
        """Token vectors."""
        return self._bert(ids, mask).float()


def _pairs(readers: Any, kind: str) -> Line:
    """A head with four options on eight states of about 100 tokens."""
    from judgments.services.training import question_of

    head = question_of("growth.decision")
    long = STATE * 6

    def ask(n: int) -> None:
        states = [{"message": f"{n} {k} {kind} {long}"[:430], "last_line": "Shall I?"} for k in range(8)]
        readers.answer([(state, head) for state in states])

    ask(-1)
    line = measure(f"8 states of 100 tokens, a head, {kind}", ask, range(8), clock=time.process_time)
    line.note = f"{8 * 4 / line.median * 1000:.0f} pairs/s on a core"
    return line


def language_model(path: Path) -> list[Line]:
    """The causal reader on 8 questions and one state of 128 tokens, shared and one by one."""
    torch: Any = __import__("torch")
    from judgments.ml import causal

    torch.set_num_threads(os.cpu_count() or 1)
    reader = causal.load(path)
    asked = _nouls(N_QUESTIONS)
    state = STATE * 7
    reader.answer(state, asked)
    shared = measure(
        "language model: 8 nouls, shared", lambda n: reader.answer(f"{n} {state}", asked), range(5)
    )
    apart = measure(
        "language model: the same, one by one",
        lambda n: [reader.answer(f"{n} {state}", [question]) for question in asked],
        range(3),
    )
    shared.note = f"{N_QUESTIONS / shared.median * 1000:.1f} questions/s"
    apart.note = f"{apart.median / shared.median:.1f} x the shared one"
    return [shared, apart]


def _questions(wires: list[dict[str, Any]]) -> list[Any]:
    from judgments.questions import read_question

    return [read_question(str(n), wire)[0] for n, wire in enumerate(wires)]


def _choices(n: int) -> list[Any]:
    kinds = {"post": "Parcels.", "money": "Bills.", "joy": "Thanks.", "other": "Anything else."}
    return _questions([{"type": "choice", "instructions": f"Part {k}?", "criteria": kinds} for k in range(n)])


def _nouls(n: int) -> list[Any]:
    return _questions([{"type": "noul", "instructions": f"Is wish number {k} met?"} for k in range(n)])


def main() -> None:
    """Measure what is installed and print one table each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lm", type=Path)
    options = parser.parse_args()
    stores.begin()
    print(table(the_way_there_and_back()))
    if find_spec("torch") is None:
        print("torch is not installed; no reader was measured")
        return
    print(table(readers()))
    if options.lm:
        print(table(language_model(options.lm)))


if __name__ == "__main__":
    main()
