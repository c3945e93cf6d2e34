"""What of the words and answers of a very long ask is kept on record. Pure; what was sent is never cut.

A map over its limit loses the ends of texts and names of more than 200 characters; a name cut so is the same
wherever it stands. An entry that doesn't fit then is kept bare, without its options, and not at all where
even that has no room. Each entry of a map that was cut says so: `"truncated": true`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from judgments import strict_json

MAX_WORDING_BYTES = 64 * 1024
MAX_ANSWERS_BYTES = 16 * 1024
MAX_CHARS = 200
MARK = "truncated"
_N_PRINT = 8


def wording(questions: dict[str, Any]) -> tuple[dict[str, Any], bool, int]:
    """Id → question as it is kept, whether it was cut, and its bytes."""
    return _kept(questions, MAX_WORDING_BYTES, _bare_question)


def answers(found: Any, *, is_wording_cut: bool = False) -> tuple[Any, bool, int]:
    """Id → answer as it is kept, whether it was cut, and its bytes. Anything else stays as it is.

    Where the wording is kept cut, long names are the same here, so that a label of the one counts.
    """
    if not isinstance(found, dict):
        return found, False, _size(found)
    return _kept(_short(found) if is_wording_cut else found, MAX_ANSWERS_BYTES, _bare_answer)


def is_cut(found: dict[str, Any]) -> bool:
    """Whether a kept map is not the whole."""
    return any(isinstance(one, dict) and MARK in one for one in found.values())


def _kept(
    found: dict[str, Any], limit: int, bare: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], bool, int]:
    size = _size(found)
    if size <= limit:
        return found, False, size
    kept: dict[str, Any] = {}
    size = len("{}")
    for key, one in found.items():
        one = _short(one) if isinstance(one, dict) else {}
        for form in (one, bare(one)):
            entry = {_short(key): {**form, MARK: True}}
            if size + (n := _size(entry)) <= limit:
                kept |= entry
                size += n
                break
    return kept, True, size


def _bare_question(question: dict[str, Any]) -> dict[str, Any]:
    """Its type and the beginning of its instructions; a score keeps the number of its levels."""
    kept = {"type": question["type"]}
    if (said := question.get("instructions")) is not None:
        kept["instructions"] = _short(said if isinstance(said, str) else strict_json.dumps(said))
    empty = {"choice": {}, "score": [""] * len(question.get("criteria") or ())}
    return kept | ({"criteria": empty[kept["type"]]} if kept["type"] in empty else {})


def _bare_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """What was said without the probabilities: half of them would make reports say wrong things."""
    return {key: value for key, value in answer.items() if not isinstance(value, dict | list)}


def _short(value: Any) -> Any:
    """The value with long texts and names cut to the limit, their end a fingerprint of the whole."""
    if isinstance(value, str) and len(value) > MAX_CHARS:
        print_ = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:_N_PRINT]
        return f"{value[: MAX_CHARS - _N_PRINT - 2]}… {print_}"
    if isinstance(value, dict):
        return {_short(key): _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return value


def _size(value: Any) -> int:
    return len(strict_json.dump_bytes(value))
