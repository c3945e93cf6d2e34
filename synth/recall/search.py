"""Finds the best memories for a question: parse, count, mend typos, fetch candidates, rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from synth.recall import query, rank, store, typos
from synth.recall.lexemes import HEAD, scope_term
from synth.recall.query import Slot

MAX_MENDED = 4
MAX_NEIGHBOURS = 3


@dataclass(frozen=True)
class Asked:
    """A question to the memories about nobody and about some persons: its words, and how many hold each."""

    agent_id: int
    scopes: list[int | None]
    slots: list[Slot]
    counts: dict[str, int]


def look_up(agent_id: int, question: str | Sequence[str], about_id: int | None) -> Asked | None:
    """The question with its counts; None where nothing can be found: no words, or no memories in scope."""
    slots = query.parse(question)
    if not slots:
        return None
    scopes: list[int | None] = [None] if about_id is None else [None, about_id]
    terms = [slot.word for slot in slots]
    counts = store.counts(
        agent_id, [*terms, *(HEAD + term for term in terms), *(scope_term(scope) for scope in scopes)]
    )
    has_any = any(counts.get(scope_term(scope)) for scope in scopes)
    return Asked(agent_id, scopes, slots, counts) if has_any else None


def search(asked_of: Asked, *, limit: int, at: datetime) -> list[tuple[int, float]]:
    """Ids and scores (0..1, best first) of memories about nobody and, when given, about one person."""
    agent_id, scopes = asked_of.agent_id, asked_of.scopes
    slots, counts = mend(agent_id, asked_of.slots, asked_of.counts)
    n_all = sum(counts.get(scope_term(scope), 0) for scope in scopes)
    slots = query.weigh(slots, counts, n_all)
    known = [term for slot in slots for term, _ in slot.options if counts.get(term)]
    asked = [*known, *(HEAD + term for term in known if counts.get(HEAD + term))]
    total = sum(slot.weight for slot in slots)
    found: list[rank.Candidate] = []
    for scope in scopes:
        if n_scope := counts.get(scope_term(scope), 0):
            choice = query.choose(slots, counts, n_scope)
            found += store.candidates(
                agent_id, scope, choice, asked=asked, total=total, at=at, keep=max(store.KEEP, limit)
            )
    return [(candidate.id, score) for candidate, score in rank.Ranking(slots, at).best(found, limit)]


def mend(agent_id: int, slots: list[Slot], counts: dict[str, int]) -> tuple[list[Slot], dict[str, int]]:
    """The slots with neighbours for the longest unknown words of spaced scripts, and the counts of those."""
    unknown = [
        slot.word
        for slot in slots
        if slot.is_spaced
        and not counts.get(slot.word)
        and len(slot.word) >= typos.MIN_CHARS
        and not any(ch.isdigit() for ch in slot.word)
    ]
    unknown = sorted(unknown, key=lambda word: (-len(word), word))[:MAX_MENDED]
    options: dict[str, tuple[tuple[str, float], ...]] = {}
    seen: dict[str, int] = {}
    for word in unknown:
        near = {**store.neighbours(agent_id, word), **store.counts(agent_id, typos.variants(word))}
        close = [(known, typos.closeness(word, known)) for known in near]
        close = sorted(
            (pair for pair in close if pair[1] > 0), key=lambda pair: (-pair[1], -near[pair[0]], pair[0])
        )
        options[word] = tuple(close[:MAX_NEIGHBOURS])
        seen.update({known: near[known] for known, _ in options[word]})
    if seen:
        seen |= store.counts(agent_id, [HEAD + known for known in seen])
    return [replace(s, options=options.get(s.word, s.options)) for s in slots], {**counts, **seen}
