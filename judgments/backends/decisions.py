"""The OpenAI dialect for the client: our ask as `/v1/decisions` wants it, its reply in our shape. Pure.

Ids stay here: questions go by position, and each answer must be of the type asked at its place. The dialect
has no outcome descriptions and knows texts only, so criteria of a noul join its instructions, and objects
and arrays are sent as JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judgments import strict_json
from judgments.answers import BadAnswer
from judgments.questions import Ask, Question

_TYPES = {"noul": "predicate", "choice": "choice", "score": "score"}


def request_body(ask: Ask, model: str) -> dict[str, Any]:
    """The body of `POST /v1/decisions`."""
    return {"model": model, "input": _text(ask.state), "questions": [_question(q) for q in ask.questions]}


def as_systemone(ask: Ask, body: Any) -> dict[str, Any]:
    """The reply as System One would have said it, to be checked like any other. BadAnswer."""
    answers = body.get("answers") if isinstance(body, Mapping) else None
    if not isinstance(answers, list):
        raise BadAnswer("The reply has no answers list")
    if len(answers) != len(ask.questions):
        raise BadAnswer(f"{len(answers)} answers to {len(ask.questions)} questions")
    found = {q.id: _answer(q, given) for q, given in zip(ask.questions, answers, strict=True)}
    return {"model": body.get("model"), "answers": found, "usage": body.get("usage")}


def _question(question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {"type": _TYPES[question.type], "instructions": _instructions(question)}
    if question.type == "choice":
        listed = [{"value": name, "description": text} for name, text in question.criteria.items()]
        body["choices"] = [
            {key: _text(value) for key, value in choice.items() if value is not None} for choice in listed
        ]
    if question.type == "score":
        body["levels"] = [{"label": _text(level)} for level in question.criteria]
    return body


def _instructions(question: Question) -> str:
    texts = [] if question.instructions is None else [_text(question.instructions)]
    if question.type == "noul" and question.criteria:
        for outcome in ("true", "false"):
            if question.criteria.get(outcome) is not None:
                texts.append(f"It is {outcome} when: {_text(question.criteria[outcome])}")
    # The dialect insists on instructions; a choice or score may come without.
    return "\n".join(texts) or "Which one fits?"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else strict_json.dumps(value)


def _answer(question: Question, given: Any) -> dict[str, Any]:
    where = f"Answer {question.id[:60]!r}"
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind == "refusal":
        raise BadAnswer(f"{where}: the host declined to answer")
    if kind != _TYPES[question.type]:
        raise BadAnswer(f"{where} is not of type {_TYPES[question.type]}")
    if question.type == "noul":
        return {"type": "noul", "noul": given.get("probability")}
    probabilities = _probabilities(question, given.get("probabilities"), where)
    body = {"type": question.type, "probabilities": probabilities, "confidence": given.get("confidence")}
    return body | {question.type: given.get(question.type)}


def _probabilities(question: Question, listed: Any, where: str) -> dict[str, Any]:
    """Entries `{value, probability}` as a map; a value that comes twice is an error."""
    if not isinstance(listed, list) or not all(isinstance(entry, Mapping) for entry in listed):
        raise BadAnswer(f"{where}: no probabilities")
    found: dict[str, Any] = {}
    for entry in listed:
        value = entry.get("value")
        is_level = isinstance(value, int) and not isinstance(value, bool)
        key = str(value) if question.type == "score" and is_level else value
        if not isinstance(key, str) or key in found:
            raise BadAnswer(f"{where}: the probabilities' values are not the options")
        found[key] = entry.get("probability")
    return found
