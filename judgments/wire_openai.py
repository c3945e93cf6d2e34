"""The OpenAI dialect of System One, `POST /v1/decisions`: input, a list of questions, answers in order.

`predicate` is our noul, `choice` and `score` are themselves. Questions have no ids: position is the id.
Choice values are strings or booleans and stay apart: "true" and true may stand side by side. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judgments import openai_input
from judgments.questions import MAX_LEVELS, MAX_OPTIONS, MIN_LEVELS, Ask, Labels, Question
from judgments.typed import Answer, ChoiceAnswer, NoulAnswer, prefixed
from judgments.wire_errors import Detail, detail, invalid

MAX_QUESTIONS = 400
_MIN_CHOICES = 2
Loc = tuple[str | int, ...]


class _Problem(Exception):
    """One field that is wrong."""

    def __init__(self, found: Detail) -> None:
        super().__init__(found["msg"])
        self.found = found


def parse_request(obj: Any) -> Ask:
    """The request as an Ask whose ids are "0", "1", ...; WireError 422 names what is wrong."""
    if not isinstance(obj, Mapping):
        raise invalid([detail([], "Input should be a valid dictionary", "dict_type")])
    required = ("input", "model", "questions")
    problems = [detail([key], "Field required", "missing") for key in required if key not in obj]
    if "model" in obj and not isinstance(obj["model"], str):
        problems.append(detail(["model"], "Input should be a valid string", "string_type"))
    state, wrong = openai_input.read_input(obj["input"]) if "input" in obj else ("", [])
    questions, bad = _questions(obj["questions"]) if "questions" in obj else ([], [])
    if problems := problems + wrong + bad:
        raise invalid(problems)
    return Ask(obj["model"], state, tuple(questions), "openai-decisions")


def response(
    ask: Ask,
    answers: Mapping[str, Answer],
    *,
    model: str,
    usage: Mapping[str, int],
    extras: Mapping[str, Mapping[str, Any]] | None = None,
    top: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The 200 body: a list of answers, and usage as the official SDK's types want it."""
    extras = extras or {}
    listed = [_answer(q, answers[q.id]) | prefixed(extras.get(q.id)) for q in ask.questions]
    n_in, n_out = (int(usage.get(key, 0)) for key in ("input_tokens", "output_tokens"))
    counts = {
        "input_tokens": n_in,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": n_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": n_in + n_out,
    }
    return {"model": model, "answers": listed, "usage": counts} | prefixed(top)


def _answer(question: Question, answer: Answer) -> dict[str, Any]:
    labels = question.labels or Labels(None, question.options, question.options)
    head = {"type": "predicate" if answer.type == "noul" else answer.type, "name": labels.name}
    if isinstance(answer, NoulAnswer):
        return head | {"probability": answer.noul}
    values = list(answer.probabilities.values())
    if isinstance(answer, ChoiceAnswer):
        spelled = dict(zip(question.options, labels.values, strict=True))
        listed = [{"value": v, "probability": p} for v, p in zip(labels.values, values, strict=True)]
        chosen = {"choice": spelled[answer.choice], "probabilities": listed}
        return head | chosen | {"confidence": answer.confidence}
    levels = [
        {"value": n, "label": label, "probability": p}
        for n, (label, p) in enumerate(zip(labels.levels, values, strict=True))
    ]
    return head | {"score": answer.score, "probabilities": levels, "confidence": answer.confidence}


def _questions(found: Any) -> tuple[list[Question], list[Detail]]:
    loc: Loc = ("questions",)
    if not isinstance(found, list):
        return [], [detail(loc, "Input should be a valid list", "list_type")]
    if not 1 <= len(found) <= MAX_QUESTIONS:
        message = f"1 to {MAX_QUESTIONS} questions are answered, not {len(found)}"
        return [], [detail(loc, message, "too_long" if found else "too_short")]
    questions, problems = [], []
    for n, item in enumerate(found):
        try:
            questions.append(_question(n, item))
        except _Problem as problem:
            problems.append(problem.found)
    return questions, problems


def _question(n: int, found: Any) -> Question:
    loc: Loc = ("questions", n)
    if not isinstance(found, Mapping):
        raise _Problem(detail(loc, "Input should be a valid dictionary", "dict_type"))
    kind = found.get("type")
    if kind not in ("predicate", "choice", "score"):
        kind_loc = (*loc, "type")
        raise _Problem(detail(kind_loc, "Expected 'predicate', 'choice' or 'score'", "union_tag_invalid"))
    name = found.get("name")
    if name is not None and not isinstance(name, str):
        raise _Problem(detail((*loc, "name"), "Input should be a valid string", "string_type"))
    if found.get("instructions") is None:
        raise _Problem(detail((*loc, "instructions"), "Field required", "missing"))
    instructions, wrong = openai_input.read_content(found["instructions"], (*loc, "instructions"))
    if wrong:
        raise _Problem(wrong[0])
    if kind == "predicate":
        return Question(str(n), "noul", instructions, None, Labels(name))
    if kind == "choice":
        values, criteria = _choices(found.get("choices"), (*loc, "choices"))
        return Question(str(n), "choice", instructions, criteria, Labels(name, values=values))
    labels, levels = _levels(found.get("levels"), (*loc, "levels"))
    return Question(str(n), "score", instructions, levels, Labels(name, levels=labels))


def _entries(found: Any, loc: Loc, least: int, most: int) -> list[Mapping[str, Any]]:
    """A list of `least` to `most` objects."""
    if found is None:
        raise _Problem(detail(loc, "Field required", "missing"))
    if not isinstance(found, list):
        raise _Problem(detail(loc, "Input should be a valid list", "list_type"))
    if not least <= len(found) <= most:
        kind = "too_short" if len(found) < least else "too_long"
        raise _Problem(detail(loc, f"{least} to {most} entries, not {len(found)}", kind))
    for n, entry in enumerate(found):
        if not isinstance(entry, Mapping):
            raise _Problem(detail((*loc, n), "Input should be a valid dictionary", "dict_type"))
        if not isinstance(entry.get("description"), str | None):
            raise _Problem(detail((*loc, n, "description"), "Input should be a valid string", "string_type"))
    return found


def _choices(found: Any, loc: Loc) -> tuple[tuple[str | bool, ...], dict[str, str | None]]:
    """The typed values, and criteria keyed by text that is unique among them."""
    entries = _entries(found, loc, _MIN_CHOICES, MAX_OPTIONS)
    for n, entry in enumerate(entries):
        if not isinstance(entry.get("value"), str | bool):
            message = "Input should be a string or a boolean"
            raise _Problem(detail((*loc, n, "value"), message, "text_type"))
    values = tuple(entry["value"] for entry in entries)
    texts = {value for value in values if isinstance(value, str)}
    criteria: dict[str, str | None] = {}
    for n, entry in enumerate(entries):
        value = entry["value"]
        key = value if isinstance(value, str) else _spelled(value, texts)
        if key in criteria:
            raise _Problem(detail((*loc, n, "value"), "Each choice must be unique", "unique"))
        criteria[key] = entry.get("description")
    return values, criteria


def _spelled(value: bool, texts: set[str]) -> str:
    key = "true" if value else "false"
    while key in texts:
        key += " (boolean)"
    return key


def _levels(found: Any, loc: Loc) -> tuple[tuple[str, ...], list[str]]:
    """The labels, and the texts a model reads."""
    entries = _entries(found, loc, MIN_LEVELS, MAX_LEVELS)
    for n, entry in enumerate(entries):
        if not isinstance(entry.get("label"), str):
            raise _Problem(detail((*loc, n, "label"), "Input should be a valid string", "string_type"))
    texts = [f"{e['label']}: {e['description']}" if e.get("description") else e["label"] for e in entries]
    return tuple(entry["label"] for entry in entries), texts
