"""States and questions as the texts an encoder reads. Pure; nothing is cut, no id is part of a text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgments import strict_json
from judgments.questions import Question

DEEPEST = 40  # what is nested deeper is read as JSON


@dataclass(frozen=True)
class Fields:
    """Which top-level parts of a state a trained head reads; `pair` are two of them it compares.

    No names at all: the state as a whole is the one part.
    """

    names: tuple[str, ...]
    pair: tuple[str, str] | None = None

    @property
    def n(self) -> int:
        """How many parts."""
        return max(1, len(self.names))

    @property
    def pair_places(self) -> tuple[int, int] | None:
        """The pair as places in `names`."""
        return None if self.pair is None else (self.names.index(self.pair[0]), self.names.index(self.pair[1]))


# What the heads of the core judgments read. A state that lacks one of the parts has no trained reader.
FIELDS: dict[str, Fields] = {
    "growth.decision": Fields(("message", "last_line")),
    "growth.grounded": Fields(("line", "evidence"), pair=("line", "evidence")),
    "approvals.allow": Fields(("action", "similar"), pair=("action", "similar")),
    "check-in.progress": Fields(("request", "calls"), pair=("request", "calls")),
    "context.candidate": Fields(("memory", "talk"), pair=("memory", "talk")),
    "toolkit.suggest": Fields(("message",)),
    "decider.act": Fields(("situation",)),
}


def plain(value: Any, depth: int = 0) -> str:
    """A text of the wire as one string: objects as `key: value` lines, arrays as lines."""
    if isinstance(value, str):
        return value
    if depth < DEEPEST and isinstance(value, Mapping):
        return "\n".join(f"{key}: {plain(found, depth + 1)}" for key, found in value.items())
    if depth < DEEPEST and isinstance(value, list | tuple):
        return "\n".join(plain(found, depth + 1) for found in value)
    return strict_json.dumps(value)


def field_texts(state: Any, fields: Fields) -> list[list[str]] | None:
    """The texts of each field, an array's entries apart; None when the state hasn't these fields."""
    if fields.names and (not isinstance(state, Mapping) or any(name not in state for name in fields.names)):
        return None
    found = []
    for value in [state[name] for name in fields.names] if fields.names else [state]:
        entries = [plain(entry) for entry in value] if isinstance(value, list | tuple) else [plain(value)]
        found.append([entry for entry in entries if entry.strip()])
    return found


def common_fields(states: Sequence[Any]) -> Fields:
    """What a head may read of states like these: the parts that all of them have, else the whole."""
    if not states or not all(isinstance(state, Mapping) for state in states):
        return Fields(())
    return Fields(tuple(name for name in states[0] if all(name in state for state in states)))


def option_texts(question: Question) -> list[tuple[str, str]]:
    """Name and text of each option, `true` and `false` for a noul, levels by number for a score."""
    if question.type == "noul":
        criteria = question.criteria or {}
        return [(name, plain(criteria.get(name) or name)) for name in ("true", "false")]
    if question.type == "score":
        return [(str(n), plain(level)) for n, level in enumerate(question.criteria)]
    return [(name, f"{name}: {plain(text)}" if text else name) for name, text in question.criteria.items()]


def meanings(question: Question) -> list[str]:
    """What each option or level says: its text; its name, which is but a key, only where there is none."""
    if question.type == "choice":
        return [plain(text) if text else name for name, text in question.criteria.items()]
    return [text for _, text in option_texts(question)]


def says_yes(question: Question) -> list[bool] | None:
    """Which options mean yes, of a choice or score that is a noul in other clothes; None for others."""
    words = [text.strip().casefold() for text in meanings(question)]
    if question.type == "noul" or set(words) not in ({"yes", "no"}, {"true", "false"}):
        return None
    return [word in ("yes", "true") for word in words]


# Judgments whose options differ from ask to ask.
OPEN_OPTIONS = frozenset({"toolkit.suggest"})


def question_key(question: Question, *, with_options: bool = True) -> str:
    """A digest of what a question asks: type, wording and options, in any order but for a score's levels."""
    options = option_texts(question) if with_options else []
    if question.type != "score":
        options = sorted(options)
    whole = [question.type, plain(question.instructions or ""), options]
    return hashlib.sha256(json.dumps(whole, ensure_ascii=True).encode()).hexdigest()


def windows(ids: Sequence[int], size: int, overlap: int) -> list[list[int]]:
    """The tokens as overlapping windows that together hold every one of them."""
    if len(ids) <= size:
        return [list(ids)]
    starts = list(range(0, len(ids) - overlap, size - overlap))
    return [list(ids[start : start + size]) for start in starts]
