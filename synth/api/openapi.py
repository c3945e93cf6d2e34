"""Completes the generated OpenAPI: the key scheme, the headers a call may send, every documented refusal."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

REFUSALS = {
    "400": "Malformed; `field` names what",
    "401": "No key or session, or one that does not hold",
    "403": "Seen, but not allowed",
    "404": "Not there, or somebody else's",
    "406": "No such answer format",
    "429": "Too many requests",
    "503": "Not now",
}
WRITE_REFUSALS = {
    "409": "The thing moved meanwhile, or its name is taken",
    "413": "The body is too large",
    "415": "The body is not JSON",
    "422": "Understood, and refused",
}
WRITES = ("post", "put", "patch", "delete")
ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "stable, for programs"},
                "message": {"type": "string", "description": "a sentence for people"},
                "field": {"type": "string", "description": "the field or header it is about"},
            },
            "additionalProperties": True,
        }
    },
}
PERSON_HEADER = {
    "name": "X-Person",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The username an app key acts for.",
}
KEY_HEADER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
    "description": "The same key with the same request has one effect and one answer.",
}
SECONDS = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds to wait"}}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes `Authorization: Bearer`."""

    target_class = "synth.api.auth.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A Synth API key; `Token` works too."}


def document_answers(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add to every operation the refusals of this API, and to request bodies that they are closed."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Error"] = ERROR_SCHEMA
    for name, schema in schemas.items():
        if name.endswith("Request") and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
    for operations in result["paths"].values():
        for method, operation in operations.items():
            _complete(method, operation)
    return result


def _complete(method: str, operation: dict[str, Any]) -> None:
    refusals = {**REFUSALS, **(WRITE_REFUSALS if method in WRITES else {})}
    for status, description in refusals.items():
        answer: dict[str, Any] = {
            "description": description,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        if status in ("429", "503"):
            answer["headers"] = SECONDS
        operation["responses"].setdefault(status, answer)
    operation["responses"] = dict(sorted(operation["responses"].items()))
    headers = [PERSON_HEADER, KEY_HEADER] if method == "post" else [PERSON_HEADER]
    operation.setdefault("parameters", []).extend(headers)
