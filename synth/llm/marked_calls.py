"""Tool calls that a model writes between `<tool_call>` marks, kept out of the words people read. Pure."""

from __future__ import annotations

import json
import re

from synth.llm.messages import ToolCall
from synth.llm.toolcalls import read_calls

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_CALL = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|\Z)", re.DOTALL)


class Words:
    """A reply as it comes in. `text` is what of it was given out; `calls` are there after `end`."""

    def __init__(self, *, has_calls: bool) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self._has_calls = has_calls
        self._raw = ""
        self._n_said = 0

    @property
    def text(self) -> str:
        """The words by now."""
        return self._raw[: self._n_said]

    def feed(self, piece: str) -> str:
        """The words that may be said now: nothing from the first mark on, nor what may begin one."""
        self._raw += piece
        return self._say(self._until() if self._has_calls else len(self._raw))

    def end(self) -> str:
        """What is left to say. Marks whose inside is no call were words after all."""
        if self._has_calls and OPEN in self._raw:
            self.calls = _calls(self._raw)
        return "" if self.calls else self._say(len(self._raw))

    def _until(self) -> int:
        at = self._raw.find(OPEN)
        if at >= 0:
            return at
        longest = range(len(OPEN) - 1, 0, -1)
        return len(self._raw) - next((n for n in longest if self._raw.endswith(OPEN[:n])), 0)

    def _say(self, until: int) -> str:
        said, self._n_said = self._raw[self._n_said : until], max(until, self._n_said)
        return said


def _calls(raw: str) -> tuple[ToolCall, ...]:
    """The calls, or none where one of them cannot be read."""
    items = []
    for inside in _CALL.findall(raw):
        try:
            found = json.loads(inside)
        except (ValueError, RecursionError):
            return ()
        if not isinstance(found, dict):
            return ()
        items.append({"name": found.get("name"), "arguments": found.get("arguments")})
    try:
        return read_calls({"tool_calls": items})
    except RecursionError:  # what was read just so cannot be written
        return ()
