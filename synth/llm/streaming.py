"""A chat completion as its bytes come in: words at once, the whole at the end. Pure.

Hosts differ here too: bytes cut anywhere, CR LF or LF, comments, no end mark, an error object in the middle,
no blank line between events, or one plain JSON body although a stream was asked for. One reader takes all.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from synth.llm.messages import ToolCall
from synth.llm.reasons import LlmError
from synth.llm.tolerant import clean_text
from synth.llm.toolcalls import CallPieces

_LINE = re.compile(r"\r\n|\n|\r")
_HALF = re.compile("[\ud800-\udfff]")
_MAX_LINE_CHARS = 1_000_000
_MAX_EVENT_LINES = 500  # each new one means to look at all of them again


class Lines:
    """Lines of a byte stream, however it is cut. A lone CR at the end of a piece waits for what follows."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._rest = ""

    def feed(self, data: bytes, *, is_last: bool = False) -> list[str]:
        """The lines that are whole by now; at the end also what has no line break."""
        text = self._rest + self._decode(data, is_last)
        held = ""
        if text.endswith("\r") and not is_last:
            text, held = text[:-1], "\r"
        *lines, rest = _LINE.split(text) if "\r" in text else text.split("\n")
        if is_last:
            self._rest = ""
            return [*lines, rest] if rest else lines
        self._rest = rest + held
        if len(self._rest) > _MAX_LINE_CHARS:
            raise LlmError("llm_refused", "It sent a line that does not end.")
        return lines


class Joiner:
    """Puts text together whose characters may be cut in half between two pieces (JSON's surrogate pairs)."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """The piece as far as it is whole, with what waited before it."""
        text = self._half + piece
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if _HALF.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return clean_text(text)

    def rest(self) -> str:
        """What is left at the end."""
        left, self._half = self._half, ""
        return clean_text(left)


class Pieces:
    """What the deltas of one answer add up to. `finish` is the host's own word, unread."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.refusal: list[str] = []
        self.finish: Any = None
        self.model: Any = None
        self.usage: dict[str, Any] = {}
        self.is_done = False
        self.n_events = 0
        self._calls = CallPieces()
        self._joiner = Joiner()

    @property
    def is_over(self) -> bool:
        """Whether the host has said that nothing follows."""
        return self.is_done or bool(self.finish)

    def take(self, event: dict[str, Any]) -> str:
        """Take in one event; the words in it."""
        self.n_events += 1
        self.model = self.model or event.get("model")
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ""
        delta = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
        self.finish = choice.get("finish_reason") or self.finish
        return self._of(delta) if isinstance(delta, dict) else ""

    def end(self) -> str:
        """Words that waited for their other half."""
        return self._kept(self._joiner.rest())

    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, put together."""
        return self._calls.calls()

    def _of(self, delta: dict[str, Any]) -> str:
        if delta.get("tool_calls") or delta.get("function_call"):
            self._calls.add(delta)
        if refusal := delta.get("refusal"):
            self.refusal.append(content(refusal))
        found = delta.get("content")
        return self._kept(self._joiner.add(content(found))) if found else ""

    def _kept(self, text: str) -> str:
        if text:
            self.words.append(text)
        return text


class EventReader:
    """Reads the lines of a stream into `pieces`. LlmError of `error_of` for an error object."""

    def __init__(self, error_of: Any) -> None:
        self.pieces = Pieces()
        self._error_of = error_of
        self._data: list[str] = []
        self._n_chars = 0  # in `_data`
        self._is_error = False

    def line(self, line: str) -> str:
        """The words in one line. What is no event is passed over."""
        if not line:
            self._forget()
            self._is_error = False
        elif line.startswith("data:"):
            return self._take(line[5:].strip())
        elif line.startswith("event:"):
            self._is_error = line[6:].strip() == "error"
        return ""

    def _take(self, data: str) -> str:
        if data == "[DONE]":
            self.pieces.is_done = True
            return ""
        # Most hosts write one line an event; the standard lets an event have several.
        event = _loads(data)
        if event is None:
            event = self._joined(data)
        if not isinstance(event, dict):
            return ""
        self._forget()
        if event.get("error") or self._is_error:
            raise self._error_of(event.get("error") or event)
        return self.pieces.take(event)

    def _joined(self, data: str) -> Any:
        """The event that this line ends; None for none. Lines that never make one are let go in time."""
        self._data.append(data)
        self._n_chars += len(data)
        if len(self._data) > _MAX_EVENT_LINES or self._n_chars > _MAX_LINE_CHARS:
            self._forget()
        return _loads("\n".join(self._data)) if len(self._data) > 1 else None

    def _forget(self) -> None:
        self._data, self._n_chars = [], 0


def content(raw: Any) -> str:
    """Text of a content field: a string, or the text parts of a list. Anything else is no text."""
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        return ""
    texts = [item.get("text") if isinstance(item, dict) else item for item in raw]
    return "".join(text for text in texts if isinstance(text, str))


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
