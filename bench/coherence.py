"""How coherent the local readers are, by the public suite JevBench (from PyPI, installed for the run).

`python -m bench.coherence [--suite examples|jevbench-mini|jevbench-240] [--lm FILE.gguf]`. Each reader runs
apart: the shipped heads on questions of their own in the relations that keep a question's wording, encoder
and flat answers, and with `--lm` the language model for everything. Prints scores by dimension (100: no law
broken) and the laws that were broken. Seconds for `examples`, half an hour for `jevbench-mini` with a
language model.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import stores

JEVBENCH = "jevbench==0.1.0"
# What keeps the wording of a question, which a head is picked by.
SAME_WORDING = (
    "key_rename", "key_instruction_conflict", "option_permutation",
    "batch_solo", "batch_order", "duplicate_question", "batch_size_sweep",
)  # fmt: skip
Answer = Callable[[Any, Any], dict[str, Any]]


def jevbench(folder: str) -> Any:
    """The package, from where it is installed, else brought into this folder."""
    if find_spec("jevbench") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, JEVBENCH]
        subprocess.run(pip, check=True)
        sys.path.insert(0, folder)
    return importlib.import_module("jevbench")


def answers_of(readers: Any) -> Answer:
    """A set of readers as the function that JevBench asks: a state and questions in, wire bodies out."""
    from judgments.questions import read_questions
    from judgments.typed import to_wire, typed_answer

    def answer(state: Any, wires: Any) -> dict[str, Any]:
        questions, problems = read_questions(wires)
        if problems:
            raise ValueError(str(problems))
        found = readers.answer([(state, question) for question in questions])
        return {
            question.id: to_wire(typed_answer(question, one.numbers))
            for question, one in zip(questions, found, strict=True)
        }

    return answer


def head_cases(bench: Any, n: int = 2) -> list[Any]:
    """Cases of the shipped heads' own questions: held-out generated states, two questions each."""
    from judgments.ml.generated import rows
    from judgments.services.training import question_of, trainable

    other = {"type": "choice", "instructions": "Which is it?", "criteria": {"a": "Work.", "b": "Play."}}
    cases = []
    for name in trainable():
        held_out = [row for row in rows(name, 60) if row.is_test][:n]
        for k, row in enumerate(held_out):
            wire = question_of(name).as_wire()
            if row.options and name == "toolkit.suggest":
                wire["criteria"] = row.options
            try:
                cases.append(bench.Case(f"{name}-{k}", row.state, {"own": wire, "other": other}))
            except ValueError:  # the suite knows no criteria of a yes-or-no question
                continue
    return cases


def run(bench: Any, what: str, answer: Answer, **how: Any) -> None:
    """Evaluate and print."""
    start = time.monotonic()
    found = bench.evaluate(bench.from_callable(answer, name=what), cache=None, min_n=1, **how).scores
    dimensions = " ".join(f"{k} {100 * v:.1f}" for k, v in found["pillars"].items() if v is not None)
    overall = f"{100 * found['overall']:.1f}" if found["overall"] is not None else "-"
    graded = found["graded"]["overall"]
    print(f"{what}: overall {overall} ({dimensions})", end="")
    print(
        f", graded {100 * graded:.1f}" if graded is not None else "", f"in {time.monotonic() - start:.0f} s"
    )
    broken = sorted((v, k) for k, v in found["relations"].items() if v < 1)
    print("   broken: " + (", ".join(f"{k} {100 * v:.0f}" for v, k in broken) or "none"), flush=True)


def main() -> None:
    """Each reader in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", default="examples")
    parser.add_argument("--lm", type=Path)
    options = parser.parse_args()
    if find_spec("torch") is None:
        print("torch is not installed; there is no reader to test")
        return
    stores.begin()
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(os.cpu_count() or 1)
    from judgments.ml.runner import Runner

    runner = Runner()
    runner.load()
    readers = runner.readers
    assert readers is not None
    with tempfile.TemporaryDirectory(prefix="synth-jevbench-") as folder:
        bench = jevbench(folder)
        heads = {"cases": head_cases(bench), "relations": SAME_WORDING}
        run(bench, "trained heads, their own questions", answers_of(readers), **heads)
        run(bench, f"encoder and flat, {options.suite}", answers_of(readers), suite=options.suite)
        if options.lm:
            from judgments.ml import causal

            readers.causal = causal.load(options.lm)
            run(bench, f"language model, {options.suite}", answers_of(readers), suite=options.suite)


if __name__ == "__main__":
    main()
