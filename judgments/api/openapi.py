"""The System One addresses in the OpenAPI: plain views, so their shapes are written down here."""

from __future__ import annotations

from typing import Any

from judgments.questions import MAX_LEVELS, MAX_OPTIONS, MIN_LEVELS
from synth.api.openapi import SECONDS

TEXT: dict[str, Any] = {"oneOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}]}
REFUSED = {
    "400": "Unknown model, too many tokens, or a corrupt body",
    "401": "No key, or one that does not hold",
    "403": "The key's scopes do not include systemone",
    "404": "No such path",
    "405": "Another method",
    "409": "Never",
    "413": "More bytes than are read",
    "415": "An unknown content encoding",
    "422": "The request does not validate",
    "429": "Too many asks with this key",
    "503": "No torch worker, or no answer in time",
    "529": "Too much at once",
}
ERROR = {
    "type": "object",
    "properties": {
        "detail": {
            "oneOf": [
                {"type": "array", "items": {"type": "object", "required": ["loc", "msg", "type"]}},
                {"type": "object", "required": ["error_type", "message"]},
            ]
        },
        "error": {"type": "object"},
    },
}
QUESTION = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"type": "string", "enum": ["noul", "choice", "score"]},
        "instructions": TEXT,
        "criteria": {
            "description": f"noul: `true`, `false`; choice: 1–{MAX_OPTIONS} options by name; "
            f"score: a list of {MIN_LEVELS}–{MAX_LEVELS} levels"
        },
    },
}
ASK = {
    "type": "object",
    "required": ["model", "state", "questions"],
    "properties": {
        "model": {"type": "string", "description": "`jev-latest`, or a name of `GET /v1/models`"},
        "state": TEXT,
        "questions": {"type": "object", "minProperties": 1, "additionalProperties": QUESTION},
    },
}
DECISIONS = {
    "type": "object",
    "required": ["model", "input", "questions"],
    "properties": {
        "model": {"type": "string"},
        "input": {"oneOf": [{"type": "string"}, {"type": "array"}]},
        "questions": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["type"]}},
    },
}
ANSWERED = {"type": "object", "required": ["model", "answers", "usage"]}
MODELS = {"type": "object", "required": ["object", "data", "models"]}


def add_wire(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add `/v1/systemone`, `/v1/decisions` and `/v1/models`."""
    result["components"]["schemas"]["WireError"] = ERROR
    result["paths"]["/v1/systemone"] = {
        "post": _operation("systemone", "Answer typed questions about a state.", ANSWERED, ASK)
    }
    result["paths"]["/v1/decisions"] = {
        "post": _operation("decisions", "The same in the OpenAI dialect.", ANSWERED, DECISIONS)
    }
    result["paths"]["/v1/models"] = {"get": _operation("models", "What may be asked for by name.", MODELS)}
    return result


def _operation(name: str, text: str, answer: Any, body: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": f"judgment_wire_{name}",
        "description": text,
        "tags": ["v1"],
        "security": [{"apiKey": []}],
        "responses": {"200": {"description": "", "content": {"application/json": {"schema": answer}}}},
    }
    if body is not None:
        found["requestBody"] = {"content": {"application/json": {"schema": body}}, "required": True}
    for status, description in REFUSED.items():
        schema = {"$ref": "#/components/schemas/WireError"}
        refusal: dict[str, Any] = {
            "description": description,
            "content": {"application/json": {"schema": schema}},
        }
        if status in ("429", "503", "529"):
            refusal["headers"] = SECONDS
        found["responses"][status] = refusal
    return found
