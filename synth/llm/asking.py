"""A JSON object from a language model: one tolerant parse, one check, at most one stricter retry.

`complete_json` does the whole of it. `ask_json` is one call and one parse, for callers that count their own
retries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from synth.llm.door import complete
from synth.llm.messages import Reply, Request
from synth.llm.reasons import LlmError
from synth.llm.tolerant import PROBLEMS, parse

Check = Callable[[dict[str, Any]], str]
_LONGEST_PROBLEM = 300  # characters of a problem quoted to the model


@dataclass(frozen=True)
class Attempt:
    """One call and what was read from it. Exactly one of `value` and `problem` is set."""

    value: dict[str, Any] | None
    problem: str
    reply: Reply
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class JsonReply:
    """A value that passed. `model` is the validated schema where one was given; `replies` has one or two."""

    value: dict[str, Any]
    replies: tuple[Reply, ...]
    notes: tuple[str, ...]
    model: BaseModel | None = None

    @property
    def n_calls(self) -> int:
        """Calls this value took: 1, or 2 after the stricter retry."""
        return len(self.replies)


def ask_json(request: Request, expected: Collection[str] = (), check: Check | None = None) -> Attempt:
    """One call, parse and check. `check(value)` gives '' or says what is wrong. LlmError as `complete`."""
    reply = complete(request)
    if reply.finish_reason == "length":
        return Attempt(None, "cut", reply, ("the token limit was reached",))
    parsed = parse(reply.text, expected=expected)
    problem = parsed.problem
    if parsed.value is not None and check is not None:
        problem = check(parsed.value)
    return Attempt(None if problem else parsed.value, problem, reply, tuple(parsed.notes))


def stricter(request: Request, problem: str, expected: Collection[str] = ()) -> Request:
    """The same request with a sterner last word, for the one retry after `problem`."""
    why = PROBLEMS.get(problem, problem)[:_LONGEST_PROBLEM]
    keys = f" with the keys {', '.join(expected)}" if expected else ""
    text = (
        f"Your previous reply could not be used: {why}. Reply again with one complete JSON object{keys}: "
        "double quotes around every key and string, no comments, no text before or after it, no code fence."
    )
    return request.with_instruction(text, journal_suffix=":stricter")


def complete_json(
    request: Request,
    *,
    schema: type[BaseModel] | None = None,
    keys: Collection[str] = (),
    lenient: bool = False,
    accept: Check | None = None,
) -> JsonReply:
    """A JSON object that has `keys`, fits `schema` (no unknown keys unless `lenient`) and passes `accept`.

    LlmError `bad_shape`, or `cut` when both replies hit the token limit; any other reason as `complete`.
    """
    expected = tuple(keys) or _required(schema)
    if schema is not None and request.json_schema is None:
        request = replace(request, json_schema=schema.model_json_schema())
    checker = _Checker(schema, lenient, accept)
    first = ask_json(request, expected, checker)
    if first.value is not None:
        return JsonReply(first.value, (first.reply,), first.notes, checker.model)
    second = ask_json(stricter(request, first.problem, expected), expected, checker)
    if second.value is not None:
        notes = (f"retried: {first.problem}", *second.notes)
        return JsonReply(second.value, (first.reply, second.reply), notes, checker.model)
    is_cut = first.reply.finish_reason == second.reply.finish_reason == "length"
    detail = f"First: {first.problem}. Then: {second.problem}."
    raise LlmError("cut" if is_cut else "bad_shape", detail, call_id=second.reply.call_id)


@dataclass
class _Checker:
    """Validates a value and keeps the schema's model of it."""

    schema: type[BaseModel] | None
    lenient: bool
    accept: Check | None
    model: BaseModel | None = None

    def __call__(self, value: dict[str, Any]) -> str:
        if self.schema is not None:
            try:
                self.model = self.schema.model_validate(value, extra="ignore" if self.lenient else "forbid")
            except ValidationError as error:
                return _first_errors(error)
        return self.accept(value) if self.accept else ""


def _required(schema: type[BaseModel] | None) -> tuple[str, ...]:
    fields = schema.model_fields.items() if schema else ()
    return tuple(field.alias or name for name, field in fields if field.is_required())


def _first_errors(error: ValidationError) -> str:
    """Where and what, for at most three errors; never the input itself."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:3]
    texts = [f"{'.'.join(map(str, e['loc'])) or 'object'}: {e['msg']}" for e in found]
    return "; ".join(texts)[:_LONGEST_PROBLEM]
