"""Tool calls that a model writes between `<tool_call>` marks, kept out of the words people read. Pure."""

from __future__ import annotations

import json
import re

from synth.llm.messages import ToolCall
from synth.llm.toolcalls import read_calls

OPEN, CLOSE = "<tool_call>", "</tool_call>"
THINKS, THOUGHT = "<think>", "</think>"
_CALL = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|\Z)", re.DOTALL)


class Words:
    """A reply as it comes in. `text` is what of it was given out; `calls` are there after `end`."""

    def __init__(self, *, has_calls: bool) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self.text = ""
        self._has_calls = has_calls
        self._raw = ""
        self._n_said = 0

    def feed(self, piece: str) -> str:
        """The words that may be said now: nothing from the first mark on, nor what may begin one."""
        self._raw += piece
        return self._say(self._until() if self._has_calls else len(self._raw))

    def end(self) -> str:
        """What is left to say. Marks whose inside is no call were words after all."""
        at = self._raw.find(OPEN, _past_thinking(self._raw) or _past_unopened(self._raw))
        if self._has_calls and at >= 0:
            self.calls = _calls(self._raw[at:])
        if not self.calls:
            return self._say(len(self._raw))
        said = self._say(at)
        rest = " ".join(words for part in _CALL.split(self._raw[at:])[::2] if (words := part.strip()))
        if rest and self.text and not self.text[-1].isspace():
            rest = f" {rest}"
        self.text += rest
        return said + rest

    def _until(self) -> int:
        at = self._raw.find(OPEN, _past_thinking(self._raw))
        if at >= 0:
            return at
        longest = range(len(OPEN) - 1, 0, -1)
        return len(self._raw) - next((n for n in longest if self._raw.endswith(OPEN[:n])), 0)

    def _say(self, until: int) -> str:
        said, self._n_said = self._raw[self._n_said : until], max(until, self._n_said)
        self.text += said
        return said


def _past_thinking(raw: str) -> int:
    """From where marks are meant: what a model thinks of calling it does not call."""
    if not raw.lstrip().startswith(THINKS):
        return 0
    closed = raw.find(THOUGHT)
    return closed + len(THOUGHT) if closed >= 0 else len(raw)


def _past_unopened(raw: str) -> int:
    """The same for thinking that the template of the chat began; an argument may hold its end mark too."""
    closed = raw.find(THOUGHT)
    if closed < 0 or any(
        call.start() < closed < call.end() and _calls(call[0]) for call in _CALL.finditer(raw)
    ):
        return 0
    return closed + len(THOUGHT)


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
