"""A host for tests: says what a script wrote, in this process, without a network.

`with scripted.script(fn): ...` answers every ask to a host `scripted` with `fn(ask)`. `scripted:FILE` reads
lines of JSON, one an ask, used in order and then again from the first, for tests of whole processes. A
script gives a map id → answer, one number (every noul's), or raises Failure; a line may also be `{"fail":
word, "text": …}`. Without a script every answer is flat.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judgments import strict_json
from judgments.backends.types import Failure, HostConfig, Raw
from judgments.questions import Ask, Question
from judgments.typed import to_wire, typed_answer

Script = Callable[[Ask], Any]
MODEL = "scripted"
_lock = threading.Lock()
_scripts: list[Script] = []
_files: dict[str, Iterator[Any]] = {}


@contextmanager
def script(answer: Script) -> Iterator[None]:
    """Answer with this function inside the block, in every thread; the innermost block wins."""
    with _lock:
        _scripts.append(answer)
    try:
        yield
    finally:
        with _lock:
            _scripts.remove(answer)


def send(host: HostConfig, ask: Ask, deadline: float) -> Raw:
    """What the script says. Failure where it says so."""
    said = _said(host, ask)
    if isinstance(said, Mapping) and "fail" in said:
        raise Failure(str(said["fail"]), str(said.get("text", "")))
    answers = {question.id: _answer(question, said) for question in ask.questions}
    known = {key: value for key, value in answers.items() if value is not None}
    return Raw({"model": MODEL, "answers": known, "usage": {"input_tokens": 0, "output_tokens": 0}})


def _said(host: HostConfig, ask: Ask) -> Any:
    _, _, path = host.base_url.partition(":")
    with _lock:
        if path:
            if path not in _files:
                _files[path] = itertools.cycle(_lines(Path(path)))
            return next(_files[path])
        current = _scripts[-1] if _scripts else None
    return current(ask) if current else None


def _lines(file: Path) -> list[Any]:
    """What a file has to say. Failure `unreachable` for one that cannot be read or says nothing."""
    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        found = [strict_json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError):
        found = []
    if not found:
        raise Failure("unreachable", "The script is no file with lines of JSON.")
    return found


def _answer(question: Question, said: Any) -> Any:
    """The answer's wire body: as scripted, from one number, or flat; None where a map leaves the id out."""
    if isinstance(said, Mapping):
        said = said.get(question.id)
        if said is None or isinstance(said, Mapping):
            return said
    if question.type == "noul":
        is_number = isinstance(said, int | float) and not isinstance(said, bool)
        return to_wire(typed_answer(question, float(said) if is_number else 0.5))
    n = len(question.options)
    return to_wire(typed_answer(question, list(said) if isinstance(said, list) else [1 / n] * n))
