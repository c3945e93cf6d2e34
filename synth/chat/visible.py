"""Which words of a reply may be shown while it is still being written. Pure.

What is shown is always a beginning of what the dialogue keeps in the end (`asked.read`): the thinking a reply
may begin with, white space at either end, everything from what may become an `{"actions": …}` object on (its
first brace missing or not), the fence around it included, and a reply that begins as an object wait until the
reply is whole.
"""

from __future__ import annotations

import re

from synth.chat.asked import FENCE, MAY_BE_WHOLE, OBJECT, QUOTE, THINKING, UNOPENED, WHOLE

_NAMES = THINKING.split("|")
_OPENED = re.compile(rf"\s*<({THINKING})\s*>", re.IGNORECASE)
_MAY_OPEN = re.compile(r"\s*(?:<([a-z]*)\s*)?\Z", re.IGNORECASE)


def _beginning(*parts: str) -> str:
    """A pattern for as much of these parts, one after the other, as has come."""
    return "".join(f"(?:{part}" for part in parts) + ")?" * len(parts)


_WORD = tuple("actions")
_BRACED = _beginning(*_WORD, f"[{QUOTE}]?", r"\s*")
_BARE = _beginning(*_WORD, f"[{QUOTE}]", r"\s*", ":", r"\s*")
_MAY_BE_OBJECT = re.compile(rf"\{{\s*[{QUOTE}]?{_BRACED}\Z|^[ \t]*[{QUOTE}]{_BARE}\Z", re.MULTILINE)
_IN_FENCE = re.compile(r"[\w-]*\s*")


class Visible:
    """Takes a reply in pieces and gives the words that may be shown; `shown` is all of them so far."""

    def __init__(self) -> None:
        self.shown = ""
        self._held = ""  # not shown yet
        self._closing: re.Pattern[str] | None = None  # the end of the thinking that is being hidden
        self._from = 0  # where that end is looked for
        self._has_thought = False
        self._has_begun = False
        self._is_closed = False
        self._n_fences = 0

    def feed(self, piece: str) -> str:
        """The words that may be shown by now."""
        self._held += piece
        if self._is_closed or (not self._has_begun and not self._begin()):
            return ""
        return self._show(self._safe())

    def finish(self, content: str) -> str:
        """The words still missing from `content`, which the dialogue keeps."""
        rest = content[len(self.shown) :] if content.startswith(self.shown) else ""
        self.shown += rest
        return rest

    def _begin(self) -> bool:
        """Past the thinking and the white space at the beginning: whether words have come."""
        if self._closing is None and (opened := _OPENED.match(self._held)):
            self._closing = re.compile(rf"</{opened[1]}\s*>", re.IGNORECASE)
            self._from = opened.end()
        if self._closing is not None:
            closed = self._closing.search(self._held, self._from)
            if closed is None:
                # Where a closing tag may have begun, so that long thinking is not searched again and again.
                self._from = max(self._from, self._held.rfind("</"))
                return False
            self._held = self._held[closed.end() :]
            self._closing, self._has_thought = None, True
        elif not self._has_thought and self._may_think():
            return False
        self._held = self._held.lstrip()
        self._has_begun = bool(self._held)
        return self._has_begun

    def _may_think(self) -> bool:
        found = _MAY_OPEN.match(self._held)
        name = (found[1] or "").lower() if found else ""
        return found is not None and any(word.startswith(name) for word in _NAMES)

    def _safe(self) -> int:
        """How many of the held characters belong to the content whatever follows."""
        end = len(self._held)
        if not self.shown and WHOLE.match(self._held):
            self._is_closed = True
            return 0
        if not self.shown and MAY_BE_WHOLE.match(self._held):
            return 0
        if found := OBJECT.search(self._held) or UNOPENED.search(self._held):
            self._is_closed = True
            end = found.start()
        elif found := _MAY_BE_OBJECT.search(self._held):
            end = found.start()
        elif self._held[-1:] in ("`", "~"):
            end = len(self._held.rstrip(self._held[-1]))  # the mark may grow
        end = self._before_fence(end)
        return len(self._held[:end].rstrip())

    def _before_fence(self, end: int) -> int:
        """Not beyond a fence that was opened and holds nothing yet: it may hold the object."""
        n_open = self._n_fences
        for mark in FENCE.finditer(self._held, 0, end):
            n_open += 1
            inside = _IN_FENCE.match(self._held, mark.end(), end)
            if n_open % 2 and inside is not None and inside.end() == end:
                return mark.start()
        return end

    def _show(self, n: int) -> str:
        words, self._held = self._held[:n], self._held[n:]
        self._n_fences += len(FENCE.findall(words))
        self.shown += words
        return words
