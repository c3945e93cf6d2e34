"""Completes the generated OpenAPI: the key scheme, the headers a call may send, every documented refusal."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

# status: name of the response component, what it means, whether only writes have it
REFUSALS = {
    "400": ("Malformed", "Malformed; `field` names what", False),
    "401": ("Unknown", "No key or session, or one that does not hold", False),
    "403": ("NotAllowed", "Seen, but not allowed", False),
    "404": ("NotFound", "Not there, or somebody else's", False),
    "406": ("NotAcceptable", "No such answer format", False),
    "409": ("Conflict", "The thing moved meanwhile, or its name is taken", True),
    "413": ("TooLarge", "The body is too large", True),
    "415": ("NotJson", "The body is not JSON", True),
    "422": ("Refused", "Understood, and refused", False),
    "429": ("Throttled", "Too many requests", False),
    "503": ("Unavailable", "Not now", False),
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


class TicketScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes `?ticket=`."""

    target_class = "synth.api.tickets.TicketAuthentication"
    name = "ticket"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        meaning = "From `/api/stream-tickets/`, for clients that cannot send headers with a stream."
        return {"type": "apiKey", "in": "query", "name": "ticket", "description": meaning}


def document_answers(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add to every operation the refusals of this API, and to request bodies that they are closed."""
    components = result.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Error"] = ERROR_SCHEMA
    components["responses"] = {
        name: _answer(status, description) for status, (name, description, _) in REFUSALS.items()
    }
    components["parameters"] = {"XPerson": PERSON_HEADER, "IdempotencyKey": KEY_HEADER}
    for name, schema in schemas.items():
        if name.endswith("Request") and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
    for operations in result["paths"].values():
        for method, operation in operations.items():
            _complete(method, operation)
    return result


def _answer(status: str, description: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    answer: dict[str, Any] = {"description": description, "content": content}
    if status in ("429", "503"):
        answer["headers"] = SECONDS
    return answer


def _complete(method: str, operation: dict[str, Any]) -> None:
    for status, (name, _, is_for_writes) in REFUSALS.items():
        if method in WRITES or not is_for_writes:
            operation["responses"].setdefault(status, {"$ref": f"#/components/responses/{name}"})
    operation["responses"] = dict(sorted(operation["responses"].items()))
    names = ("XPerson", "IdempotencyKey") if method == "post" else ("XPerson",)
    headers = [{"$ref": f"#/components/parameters/{name}"} for name in names]
    operation.setdefault("parameters", []).extend(headers)
