"""The System One wire as a server speaks it: requests read and checked, responses built. Pure.

`read_body` turns bytes into a value, `parse_request` a value into an Ask, `response` answers into the body.
Both dialects: `systemone` (`POST /v1/systemone`) and `openai-decisions` (`POST /v1/decisions`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from judgments import strict_json, wire_openai
from judgments.questions import Ask, Question, is_text, read_questions
from judgments.typed import Answer, prefixed, to_wire
from judgments.wire_errors import Detail, WireError, detail, invalid

__all__ = ["Ask", "ModelInfo", "Question", "WireError", "models_body", "new_request_id", "parse_request"]
__all__ += ["read_body", "render", "response"]

DIALECTS = ("systemone", "openai-decisions")
REQUEST_ID_HEADER = "x-typesafe-request-id"


@dataclass(frozen=True)
class ModelInfo:
    """A model that can be asked for by name. `release_date` is YYYY-MM-DD."""

    name: str
    description: str
    release_date: str
    owned_by: str = "synth"


def new_request_id() -> str:
    """A value for the header `x-typesafe-request-id`."""
    return f"req_{uuid4().hex}"


def read_body(body: bytes) -> Any:
    """The JSON value of a request's decoded bytes. WireError 422 when they are none."""
    try:
        return strict_json.loads(body)
    except strict_json.BadJson as error:
        problem = detail([error.position], f"JSON decode error: {error.message}", "json_invalid")
        raise invalid([problem]) from None


def parse_request(obj: Any, dialect: str = "systemone") -> Ask:
    """The request as an Ask. WireError 422 names each wrong field; the model's name is not checked."""
    if dialect == "openai-decisions":
        return wire_openai.parse_request(obj)
    if not isinstance(obj, Mapping):
        raise invalid([detail([], "Input should be a valid dictionary", "dict_type")])
    problems = [detail([key], "Field required", "missing") for key in ("state", "model") if key not in obj]
    problems += _check_model(obj) + _check_state(obj) + _check_assets(obj)
    questions: tuple[Question, ...] = ()
    if "questions" in obj:
        questions, wrong = read_questions(obj["questions"])
        problems += wrong
    else:
        problems.append(detail(["questions"], "Field required", "missing"))
    if problems:
        raise invalid(problems)
    return Ask(obj["model"], obj["state"], questions)


def response(
    ask: Ask,
    answers: Mapping[str, Answer],
    *,
    model: str,
    usage: Mapping[str, int],
    extras: Mapping[str, Mapping[str, Any]] | None = None,
    top: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The 200 body in the ask's dialect. `extras` by question id and `top` are ours, as `x_*`."""
    if ask.dialect == "openai-decisions":
        return wire_openai.response(ask, answers, model=model, usage=usage, extras=extras, top=top)
    extras = extras or {}
    body = {q.id: to_wire(answers[q.id], extras.get(q.id)) for q in ask.questions}
    counts = {key: int(usage.get(key, 0)) for key in ("input_tokens", "output_tokens")}
    return {"model": model, "answers": body, "usage": counts} | prefixed(top)


def render(body: Any) -> bytes:
    """A JSON body as bytes, names byte for byte, at any depth."""
    return strict_json.dump_bytes(body)


def models_body(models: Iterable[ModelInfo]) -> dict[str, Any]:
    """The body of `GET /v1/models`, for OpenAI clients (`data`) and System One clients (`models`) alike."""
    listed = list(models)
    data = [
        {"id": m.name, "object": "model", "created": _epoch(m.release_date), "owned_by": m.owned_by}
        for m in listed
    ]
    ours = [{"name": m.name, "description": m.description, "release_date": m.release_date} for m in listed]
    return {"object": "list", "data": data, "models": ours}


def _epoch(release_date: str) -> int:
    day = dt.date.fromisoformat(release_date)
    return int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp())


def _check_model(obj: Mapping[str, Any]) -> list[Detail]:
    if "model" not in obj or isinstance(obj["model"], str):
        return []
    return [detail(["model"], "Input should be a valid string", "string_type")]


def _check_state(obj: Mapping[str, Any]) -> list[Detail]:
    if "state" not in obj or is_text(obj["state"]):
        return []
    return [detail(["state"], "Input should be a string, object or array", "text_type")]


def _check_assets(obj: Mapping[str, Any]) -> list[Detail]:
    if obj.get("assets") is None:
        return []
    return [detail(["assets"], "Text only: images are not read here", "text_only")]
