"""What an app's code raises, read from its source: codes and messages of errors, for tests of its tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

# Errors proper: an action's outcome has a code too, which goes to a model and not to a client.
ERRORS = {"Conflict", "Invalid", "NotAllowed", "NotFound", "Refused", "TooMany", "Unauthenticated",
          "Unavailable", "AuthenticationFailed", "ValidationError",
          "serializers.ValidationError"}  # fmt: skip
HOLE = "\N{HORIZONTAL ELLIPSIS}"


def codes(app: Path) -> set[str]:
    """Every code an error is made with; what is only known when it happens shows as `…`."""
    values = [word.value for _, call in _calls(app) for word in call.keywords if word.arg == "code"]
    return {text for value in values for text in _texts(value)}


def messages(app: Path) -> list[tuple[str, str]]:
    """Where (`file:line`) and what: every message written in the code."""
    found = [(where, value) for where, call in _calls(app) for value in call.args[:1]]
    return [(where, text) for where, value in found for text in _texts(value)]


def is_sentence(text: str) -> bool:
    """Whether it begins like a sentence and ends like one; what is filled in may stand at both ends."""
    return (text[:1].isupper() or text[:1] == HOLE) and text[-1:] in f".?!{HOLE}"


def _calls(app: Path) -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(app.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ERRORS:
                yield f"{path.relative_to(app)}:{node.lineno}", node


def _texts(value: ast.expr) -> list[str]:
    """The texts an expression can be, as far as they are written down."""
    if isinstance(value, ast.IfExp):
        return [*_texts(value.body), *_texts(value.orelse)]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [value.value]
    if isinstance(value, ast.JoinedStr):
        return ["".join(str(p.value) if isinstance(p, ast.Constant) else HOLE for p in value.values)]
    return []
