"""How coherent the local readers are, by the public suite JevBench (from PyPI, installed for the run).

`python -m bench.coherence [--suite examples|jevbench-mini|jevbench-240] [--lm FILE.gguf] [--kept]
[--domain NAME …]`. Each reader runs apart: the shipped heads on questions of their own in the relations that
keep a question's wording, encoder and flat answers, and with `--lm` the language model for everything. Prints
scores by dimension (100: no law broken) and the laws that were broken. `--kept` asks for those laws alone
that readers keep by how they are made. Seconds for `examples`, half an hour for `jevbench-mini` with a
language model; one domain of its twelve takes a twelfth.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import stores

JEVBENCH = "jevbench==0.1.0"
# Companions: who is asked with a question, in which order, how many.
COMPANIONS = ("batch_solo", "batch_order", "duplicate_question", "batch_content", "batch_size_sweep")
# Laws that any reader of ours keeps whatever it understands, by the way it is made.
KEPT = (
    *COMPANIONS,
    "key_rename", "key_instruction_conflict",  # ids of questions
    "option_rename", "name_description_conflict", "description_swap",  # names of described options
    "option_permutation", "clone_symmetry", "option_clone",  # order of options, and twins among them
    "irrelevant_option", "remove_option_iia", "pairwise_iia",  # the other options
    "noul_as_choice", "noul_as_score",  # the type a yes-or-no question is asked in
)  # fmt: skip
# What keeps the wording of a question, which a head is picked by.
SAME_WORDING = (*COMPANIONS, "key_rename", "key_instruction_conflict", "option_permutation")
Answer = Callable[[Any, Any], dict[str, Any]]


def jevbench(folder: str) -> Any:
    """The package, from where it is installed, else brought into this folder."""
    if find_spec("jevbench") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, JEVBENCH]
        subprocess.run(pip, check=True)
        sys.path.insert(0, folder)
    return importlib.import_module("jevbench")


def answers_of(readers: Any, criteria: Mapping[str, Any] | None = None) -> Answer:
    """A set of readers as the function that JevBench asks: a state and questions in, wire bodies out.

    `criteria` of yes-or-no questions by their instructions: the suite knows none and could not send them.
    """
    from judgments.questions import read_questions
    from judgments.typed import to_wire, typed_answer

    def whole(wire: Any) -> Any:
        said = (criteria or {}).get(wire["instructions"]) if wire["type"] == "noul" else None
        return {**wire, "criteria": said} if said else wire

    def answer(state: Any, wires: Any) -> dict[str, Any]:
        questions, problems = read_questions({key: whole(wire) for key, wire in wires.items()})
        if problems:
            raise ValueError(str(problems))
        found = readers.answer([(state, question) for question in questions])
        return {
            question.id: to_wire(typed_answer(question, one.numbers), {"reader": one.reader})
            for question, one in zip(questions, found, strict=True)
        }

    return answer


def head_cases(bench: Any, n: int = 2) -> tuple[list[Any], dict[str, Any]]:
    """Cases of every shipped head's own question, and criteria for `answers_of`.

    The states are held-out generated ones; each is asked three questions, so that there are companions.
    """
    from judgments.ml.generated import rows
    from judgments.services.training import question_of, trainable

    others = {
        "kind": {"type": "choice", "instructions": "Which is it?", "criteria": {"a": "Work.", "b": "Play."}},
        "late": {"type": "noul", "instructions": "Is it late?"},
    }
    cases, criteria = [], {}
    for name in trainable():
        wire = question_of(name).as_wire()
        if wire["type"] == "noul":
            criteria[wire["instructions"]] = wire.pop("criteria", None)
        for k, row in enumerate([row for row in rows(name, 60) if row.is_test][:n]):
            if row.options and name == "toolkit.suggest":
                wire = {**wire, "criteria": row.options}
            cases.append(bench.Case(f"{name}-{k}", row.state, {"own": wire, **others}))
    return cases, criteria


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
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--domain", action="append")
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
        cases, criteria = head_cases(bench)
        own = answers_of(readers, criteria)
        run(bench, "trained heads, their own questions", own, cases=cases, relations=SAME_WORDING)
        how: dict[str, Any] = {"suite": options.suite, "domains": options.domain}
        how["relations"] = KEPT if options.kept else None
        run(bench, f"encoder and flat, {options.suite}", answers_of(readers), **how)
        if options.lm:
            from judgments.ml import causal

            readers.causal = causal.load(options.lm)
            run(bench, f"language model, {options.suite}", answers_of(readers), **how)


if __name__ == "__main__":
    main()
