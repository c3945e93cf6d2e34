"""Fingerprints of questions: SHA-256 of ordered compact JSON. Pure.

The order of questions, options and levels is kept, because another order is another wording.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from judgments import strict_json
from judgments.questions import Question


def of(value: Any) -> str:
    """64 hex digits for a JSON value. The same value in another order has another digest."""
    return hashlib.sha256(strict_json.dump_bytes(value)).hexdigest()


def instructions_digest(questions: Sequence[Question]) -> str:
    """The digest of every id, type and instruction, in order."""
    return of([[q.id, q.type, q.instructions] for q in questions])


def criteria_digest(questions: Sequence[Question]) -> str:
    """The digest of every id and its criteria, in order; options as pairs, so that their order counts."""
    return of([[q.id, _ordered(q.criteria)] for q in questions])


def pair(questions: Sequence[Question]) -> tuple[str, str]:
    """Both digests: what one version of a judgment is known by."""
    return instructions_digest(questions), criteria_digest(questions)


def _ordered(criteria: Any) -> Any:
    return [[name, text] for name, text in criteria.items()] if isinstance(criteria, dict) else criteria
