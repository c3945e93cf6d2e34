"""What a memory is found by: its recall terms, and the lexemes they become in the index.

A term is a recall token of name, tags or text; `^token` says it stands in the name or a tag. A lexeme is a
term behind its scope, `12.7:coffee` for agent 12 and person 7 (`12.0:coffee` about nobody), so that one index
serves each agent and person as if alone: other people's memories are not even read.
"""

from __future__ import annotations

from collections.abc import Sequence

from synth.text import words

HEAD = "^"
SCOPE = "#"
MAX_TERM_CHARS = 60
# A tsvector holds 1 MiB. Only very long texts of unspaced scripts meet the limit; their end is not found.
MAX_TERMS = 20_000


def tokens(text: str) -> list[str]:
    """Recall tokens, each cut to what a term may hold."""
    return [token[:MAX_TERM_CHARS] for token in words.tokens(text)]


def terms(name: str, tags: Sequence[str], text: str) -> list[str]:
    """The distinct terms of a memory, name and tags first; single characters last, where not all fit."""
    head = [token for part in (name, *tags) for token in tokens(part)]
    found = list(dict.fromkeys([*(HEAD + token for token in head), *head, *tokens(text)]))
    if len(found) > MAX_TERMS:
        found.sort(key=lambda term: len(term) == 1)
    return found[:MAX_TERMS]


def scope(agent_id: int, about_id: int | None) -> str:
    """What stands before each term in the index."""
    return f"{agent_id}.{about_id or 0}:"


def scope_term(about_id: int | None) -> str:
    """The term that counts the memories about one person, or about nobody."""
    return f"{SCOPE}{about_id or 0}"


def unscoped(lexeme: str) -> str:
    """The term inside a lexeme."""
    return lexeme.split(":", 1)[1]
