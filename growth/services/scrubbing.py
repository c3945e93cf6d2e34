"""Takes a person's traces out of what an agent wrote about its weeks; pure.

A sentence goes when it holds a trace, or rests on a diary entry that goes; `[removed]` stands in its place,
so that the others keep their numbers. Items of lists that hold a trace go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synth.text.sentences import spans

if TYPE_CHECKING:
    from synth.services.traces import Traces

REMOVED = "[removed]"
TEXTS = frozenset({"self_growth", "content", "detail", "why"})
LISTS = frozenset({"likes", "dislikes", "shared"})


@dataclass
class Scrubber:
    """`diary_ids` are the entries that go; `gone` are sentences found to rest on them."""

    traces: Traces
    diary_ids: Collection[int]
    gone: set[str] = field(default_factory=set)

    def learn(self, text: str, evidence: Any) -> None:
        """Note which sentences of a text rest on entries that go."""
        cut = spans(text)
        for one in evidence if isinstance(evidence, list) else ():
            n = one.get("sentence") if isinstance(one, dict) else None
            if self._rests(one) and isinstance(n, int) and 0 <= n < len(cut):
                self.gone.add(text[slice(*cut[n])])

    def text(self, text: str) -> str:
        """The text without the sentences that go; `[removed]` alone where none stays."""
        cut = spans(text)
        bad = [span for span in cut if self._goes(text[slice(*span)])]
        if bad and len(bad) < len(cut):
            for start, end in reversed(bad):
                text = f"{text[:start]}{REMOVED}.{text[end:]}"
        # A trace may also run over the end of a sentence.
        return REMOVED if bad and len(bad) == len(cut) or self.traces.are_in(text) else text

    def items(self, items: Iterable[Any]) -> list[Any]:
        """A list without the items that hold a trace."""
        return [item for item in items if not (isinstance(item, str) and self.traces.are_in(item))]

    def evidence(self, evidence: Any) -> Any:
        """Evidence with `[removed]` for quotes that go."""
        if not isinstance(evidence, list):
            return self.json(evidence)
        return [one | {"quote": REMOVED} if self._rests(one) else self.json(one) for one in evidence]

    def json(self, value: Any, key: str = "") -> Any:
        """Any JSON value; what keys mean is the same in all of growth's rows."""
        if isinstance(value, str):
            in_place = self.text(value) if key in TEXTS else value
            return self.traces.scrub(in_place, REMOVED)
        if key == "evidence":
            return self.evidence(value)
        if isinstance(value, list):
            kept = self.items(value) if key in LISTS else value
            return [self.json(item) for item in kept]
        if isinstance(value, dict):
            return {name: self.json(item, name) for name, item in value.items()}
        return value

    def _goes(self, sentence: str) -> bool:
        return sentence in self.gone or self.traces.are_in(sentence)

    def _rests(self, one: Any) -> bool:
        ids = one.get("diary_ids") if isinstance(one, dict) else None
        return isinstance(ids, list) and any(pk in self.diary_ids for pk in ids if isinstance(pk, int))
