"""Typed questions as plain frozen values, and the one place that says which questions are valid. Pure.

Three types: `noul` (yes or no), `choice` (one of 1–255 named options), `score` (one of 2–10 ordered levels).
Ids are any non-empty text and never reach a model; option names are kept byte for byte and in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judgments.wire_errors import Detail, detail

TYPES = ("noul", "choice", "score")
MAX_OPTIONS = 255
MIN_LEVELS, MAX_LEVELS = 2, 10
_TEXT = "Input should be a string, object or array"


@dataclass(frozen=True)
class Labels:
    """How the OpenAI dialect spells a question: its name, typed option values, level labels."""

    name: str | None = None
    values: tuple[str | bool, ...] = ()
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """One question. `criteria`: noul `{true?, false?}` or None; choice name → text or None; score levels.

    Texts are a string, object or array. `labels` is set only on questions of the OpenAI dialect.
    """

    id: str
    type: str
    instructions: Any = None
    criteria: Any = None
    labels: Labels | None = field(default=None, compare=False, repr=False)

    @property
    def options(self) -> tuple[str, ...]:
        """The keys of the probabilities: option names, or `"0".."n-1"`; empty for a noul."""
        if self.type == "choice":
            return tuple(self.criteria)
        return tuple(str(n) for n in range(len(self.criteria))) if self.type == "score" else ()

    def as_wire(self) -> dict[str, Any]:
        """The question as System One has it, without its id; parts that are None are left out."""
        parts = {"type": self.type, "instructions": self.instructions, "criteria": self.criteria}
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(frozen=True)
class Ask:
    """One request: a state and at least one question. `judgment` names the asker; it is never sent."""

    model: str
    state: Any
    questions: tuple[Question, ...]
    dialect: str = "systemone"
    judgment: str = field(default="", compare=False)

    @property
    def by_id(self) -> dict[str, Question]:
        """The questions by id, in order."""
        return {question.id: question for question in self.questions}

    def as_wire(self) -> dict[str, Any]:
        """The request body of `POST /v1/systemone`."""
        questions = {question.id: question.as_wire() for question in self.questions}
        return {"model": self.model, "state": self.state, "questions": questions}


def is_text(value: Any) -> bool:
    """Whether the value is a text of the wire: string, object or array."""
    return isinstance(value, str | dict | list)


def read_questions(found: Any) -> tuple[tuple[Question, ...], list[Detail]]:
    """The questions of a map id → question, and what is wrong; only without the latter may they be asked."""
    loc = ("questions",)
    if not isinstance(found, Mapping):
        return (), [detail(loc, "Input should be a valid dictionary", "dict_type")]
    if not found:
        return (), [detail(loc, "At least one question is required", "too_short")]
    questions: list[Question] = []
    problems: list[Detail] = []
    for key, value in found.items():
        question, wrong = read_question(key, value)
        problems += wrong
        if question is not None:
            questions.append(question)
    return tuple(questions), problems


def read_question(key: str, found: Any) -> tuple[Question | None, list[Detail]]:
    """One question of the map, or None and why not."""
    loc: tuple[str | int, ...] = ("questions", key)
    if not key:
        return None, [detail(loc, "A question id may not be empty", "string_too_short")]
    if not isinstance(found, Mapping):
        return None, [detail(loc, "Input should be a valid dictionary", "dict_type")]
    if "type" not in found:
        return None, [detail((*loc, "type"), "Field required", "missing")]
    kind = found["type"]
    if kind == "box":
        return None, [detail((*loc, "type"), "Text only: box questions are not answered here", "text_only")]
    if kind not in TYPES:
        return None, [detail((*loc, "type"), "Expected 'noul', 'choice' or 'score'", "union_tag_invalid")]
    loc = (*loc, kind)
    instructions, criteria = found.get("instructions"), found.get("criteria")
    problems = []
    if instructions is not None and not is_text(instructions):
        problems.append(detail((*loc, "instructions"), _TEXT, "text_type"))
    problems += _CHECKS[kind]((*loc, "criteria"), criteria)
    if kind == "noul" and not problems and instructions is None and not _describes(criteria):
        message = "A noul needs instructions or a described outcome"
        problems.append(detail((*loc, "instructions"), message, "missing"))
    return (None if problems else Question(key, kind, instructions, criteria)), problems


Loc = tuple[str | int, ...]


def _describes(criteria: Any) -> bool:
    return bool(criteria) and any(text is not None for text in criteria.values())


def _check_noul(loc: Loc, criteria: Any) -> list[Detail]:
    if criteria is None:
        return []
    if not isinstance(criteria, Mapping):
        return [detail(loc, "Input should be an object with 'true' and 'false'", "dict_type")]
    others = [name for name in criteria if name not in ("true", "false")]
    message = "Only 'true' and 'false' are outcomes"
    problems = [detail((*loc, name), message, "extra_forbidden") for name in others]
    return problems + _check_texts(loc, criteria)


def _check_choice(loc: Loc, criteria: Any) -> list[Detail]:
    if criteria is None:
        return [detail(loc, "Field required", "missing")]
    if not isinstance(criteria, Mapping):
        return [detail(loc, "Input should be a valid dictionary", "dict_type")]
    if not criteria:
        return [detail(loc, "At least 1 option is required", "too_short")]
    if len(criteria) > MAX_OPTIONS:
        return [detail(loc, f"At most {MAX_OPTIONS} options, not {len(criteria)}", "too_long")]
    return _check_texts(loc, criteria)


def _check_score(loc: Loc, criteria: Any) -> list[Detail]:
    if criteria is None:
        return [detail(loc, "Field required", "missing")]
    if not isinstance(criteria, list):
        return [detail(loc, "Input should be a valid list, ordered from lowest to highest", "list_type")]
    if len(criteria) < MIN_LEVELS:
        return [detail(loc, f"At least {MIN_LEVELS} levels, not {len(criteria)}", "too_short")]
    if len(criteria) > MAX_LEVELS:
        return [detail(loc, f"At most {MAX_LEVELS} levels, not {len(criteria)}", "too_long")]
    bad = [n for n, level in enumerate(criteria) if not is_text(level)]
    return [detail((*loc, n), _TEXT, "text_type") for n in bad]


def _check_texts(loc: Loc, criteria: Mapping[str, Any]) -> list[Detail]:
    bad = [name for name, text in criteria.items() if text is not None and not is_text(text)]
    return [detail((*loc, name), f"{_TEXT}, or null", "text_type") for name in bad]


_CHECKS = {"noul": _check_noul, "choice": _check_choice, "score": _check_score}
