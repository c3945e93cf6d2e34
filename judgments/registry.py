"""The judgments that apps declare, by full name; bad ones are found at start-up, not at the first ask.

    registry.declare("growth.decision", questions={"decision": {"type": "choice", ...}}, positive="approve")

An app declares in its `judgments.py`, which `load` imports: what it cannot declare is kept as a problem of
that app, and the other apps' declarations stand.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from judgments import strict_json
from judgments.questions import Question, read_question
from judgments.wire_errors import WireError, invalid

CORE_WORDS = frozenset({"approvals", "context", "guardrails", "toolkit"})
CORE_LAST = "replay"
SHARED_HOST = ("skip", "ask")
MAX_LABEL_CHARS = 200
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)+")
_MAX_NAME_CHARS = 100

Questions = Mapping[str, Mapping[str, Any]]
Source = Questions | Callable[[Any], Questions]


class BadDeclaration(ValueError):
    """A judgment that cannot be declared, or a callable that gave bad questions; names the question id."""


class Undeclared(ValueError):
    """No judgment of that name; `suggestion` is the nearest one, or None."""

    def __init__(self, name: str, suggestion: str | None) -> None:
        hint = f" Did you mean {suggestion}?" if suggestion else ""
        super().__init__(f"No judgment is named {name}.{hint}")
        self.name = name
        self.suggestion = suggestion


@dataclass(frozen=True)
class Declaration:
    """One judgment. `questions` is None where `source` is a callable, which is given the state of each ask.

    `positive` and `negative` are the label values that mean the answer was right and wrong; they limit
    nothing.
    """

    name: str
    questions: tuple[Question, ...] | None
    source: Source
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    shared_host: str = "skip"
    is_core: bool = False

    @property
    def app(self) -> str:
        """The first word of the name."""
        return self.name.partition(".")[0]

    def questions_for(self, state: Any) -> tuple[Question, ...]:
        """The questions of one ask. BadDeclaration when a callable gives bad ones."""
        if self.questions is not None:
            return self.questions
        if not callable(self.source):
            raise BadDeclaration(f"{self.name}: no questions")
        return check_questions(self.name, self.source(state))


@dataclass(frozen=True)
class Problem:
    """A declaration that failed at start-up."""

    module: str
    message: str


_declared: dict[str, Declaration] = {}
_problems: dict[str, Problem] = {}


def declare(
    name: str,
    *,
    questions: Source,
    positive: str | Iterable[str] = (),
    negative: str | Iterable[str] = (),
    shared_host: str = "skip",
    core: bool = False,
) -> Declaration:
    """Declare a judgment. BadDeclaration for a bad name, question or label. `core` opens core names.

    The same declaration twice is one.
    """
    check_name(name, core=core)
    if shared_host not in SHARED_HOST:
        raise BadDeclaration(f"{name}: shared_host is one of {', '.join(SHARED_HOST)}, not {shared_host!r}")
    checked = None if callable(questions) else check_questions(name, questions)
    right, wrong = _labels(name, "positive", positive), _labels(name, "negative", negative)
    if both := set(right) & set(wrong):
        raise BadDeclaration(f"{name}: {sorted(both)[0]!r} is both positive and negative")
    made = Declaration(name, checked, questions, right, wrong, shared_host, core)
    earlier = _declared.get(name)
    if earlier is not None and not _same(earlier, made):
        raise BadDeclaration(f"{name} is declared twice")
    _declared[name] = made
    return made


def get(name: str) -> Declaration:
    """The declaration of that name. Undeclared, with the nearest name, when there is none."""
    try:
        return _declared[name]
    except (KeyError, TypeError):
        raise Undeclared(str(name), suggest(str(name))) from None


def all_declared() -> list[Declaration]:
    """Every declaration, by name."""
    return [_declared[name] for name in sorted(_declared)]


def suggest(name: str, known: Iterable[str] | None = None) -> str | None:
    """The declared name (or the one of `known`) that `name` probably means."""
    names = sorted(_declared if known is None else known)
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not found:
        found = [full for full in names if full.partition(".")[2] == name]
    return found[0] if found else None


def load(module: str) -> bool:
    """Import an app's declarations. False when one of them is bad; `problems` then says which."""
    try:
        importlib.import_module(module)
    except BadDeclaration as error:
        _problems[module] = Problem(module, str(error))
        return False
    _problems.pop(module, None)
    return True


def problems() -> list[Problem]:
    """What start-up found wrong, for the system checks."""
    return list(_problems.values())


@contextmanager
def isolated() -> Iterator[None]:
    """For tests: what the block declares is forgotten after it."""
    declared, found = dict(_declared), dict(_problems)
    try:
        yield
    finally:
        _declared.clear()
        _declared.update(declared)
        _problems.clear()
        _problems.update(found)


def check_name(name: str, *, core: bool = False) -> None:
    """BadDeclaration unless `name` is a full name that this caller may use."""
    if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise BadDeclaration(f"{name!r} is not a full name: <app>.<name>, words of a-z, 0-9, _ and -")
    first, *_, last = name.split(".")
    if not core and (first in CORE_WORDS or last == CORE_LAST):
        word = first if first in CORE_WORDS else last
        raise BadDeclaration(f"{name}: {word} is a word of the core")


def check_questions(name: str, found: Any) -> tuple[Question, ...]:
    """The questions of a map, read as if they came over the wire. BadDeclaration names the question id."""
    if not isinstance(found, Mapping) or not found:
        raise BadDeclaration(f"{name}: questions are a map id → question with at least one entry")
    questions = []
    for key, value in found.items():
        if not isinstance(key, str):
            raise BadDeclaration(f"{name}: question {key!r}: an id is text")
        try:
            # Over JSON and back: tuples become lists, and nothing of the caller's can change later.
            question, wrong = read_question(key, strict_json.loads(strict_json.dumps(value)))
        except (TypeError, ValueError) as error:
            raise BadDeclaration(f"{name}: question {key!r}: {error}") from None
        if question is None:
            raise BadDeclaration(f"{name}: question {key!r}: {_sentence(invalid(wrong))}")
        questions.append(question)
    return tuple(questions)


def _sentence(error: WireError) -> str:
    return error.message


def _labels(name: str, what: str, found: str | Iterable[str]) -> tuple[str, ...]:
    if not isinstance(found, Iterable):
        raise BadDeclaration(f"{name}: {what} is a label or a list of labels, not {found!r}")
    values = (found,) if isinstance(found, str) else tuple(found)
    for value in values:
        if not isinstance(value, str) or not 0 < len(value) <= MAX_LABEL_CHARS:
            raise BadDeclaration(
                f"{name}: {what} label {value!r} is not text of 1–{MAX_LABEL_CHARS} characters"
            )
        if strict_json.saveable(value) != value:
            raise BadDeclaration(f"{name}: {what} label {value!r} holds a NUL or half a character")
    return values


def _same(one: Declaration, other: Declaration) -> bool:
    """A module imported again makes new callables and equal values."""
    if callable(one.source) and callable(other.source):
        names = [
            f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', '')}"
            for f in (one.source, other.source)
        ]
        return names[0] == names[1] and replace(one, source={}) == replace(other, source={})
    return replace(one, source={}) == replace(other, source={})
