"""What a chat completion body says: text, finish reason, tokens; or the error it stands for. Pure.

Hosts differ: content as a list of parts, null content, a refusal field, an error object with status 200, a
stream that nobody asked for, an HTML page of a proxy. Each ends as a `Completion` or an `LlmError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from synth.llm.messages import ToolCall
from synth.llm.reasons import LlmError
from synth.llm.streaming import EventReader, Lines, content
from synth.llm.tolerant import clean_text
from synth.llm.toolcalls import read_calls

_LENGTH = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_FILTERED = frozenset({"content_filter", "content-filter", "safety", "blocked", "prohibited_content"})
_KEY_LIKE = re.compile(r"\b(?:sk|key|pk|Bearer)[-_ ][A-Za-z0-9_\-.*]{6,}")
_LONGEST_DETAIL = 300  # characters
_LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True)
class Completion:
    """One reply of a host. Token counts are None where the host gave none."""

    text: str
    finish_reason: str
    model: str = ""
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    tool_calls: tuple[ToolCall, ...] = ()


def read_body(body: str) -> Completion:
    """The completion in a 200 body; LlmError `content_filter`, `llm_overloaded` or `llm_refused`."""
    text = body.lstrip("\ufeff \t\r\n")
    if text.startswith(("data:", "event:", ":")):
        return _from_stream(text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise LlmError("llm_refused", _not_a_completion(text)) from None
    if not isinstance(data, dict) or ("choices" not in data and not data.get("error")):
        raise LlmError("llm_refused", _not_a_completion(text))
    if data.get("error"):
        raise _from_error_object(data["error"])
    choices = data["choices"]
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    words = content(message.get("content")) or content(choice.get("text"))
    finish = finish_reason(choice.get("finish_reason"))
    if refusal := content(message.get("refusal")):
        finish = finish if words.strip() else "content_filter"
        words = words if words.strip() else refusal
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        clean_text(words),
        finish,
        _word(data.get("model"), 200),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        read_calls(message),
    )


def finish_reason(raw: Any) -> str:
    """The OpenAI word for a host's finish reason; unknown words pass, null is ''."""
    word = _word(raw, 32).lower()
    if word in _LENGTH:
        return "length"
    return "content_filter" if word in _FILTERED else word


def error_of_status(status: int, headers: Mapping[str, str], body: str, at: datetime) -> LlmError:
    """The error that an HTTP status other than 200 stands for."""
    detail = f"HTTP {status}: {_message(body)}".rstrip(": ")
    if status in (408, 425, 429) or status >= 500:
        return LlmError("llm_overloaded", detail, retry_after_s=retry_after_s(headers, at))
    if 300 <= status < 400:
        return LlmError("llm_refused", f"HTTP {status}: redirects are not followed; check LLM_BASE_URL")
    if "content_filter" in body[:4000] or "content_policy" in body[:4000]:
        return LlmError("content_filter", detail)
    return LlmError("llm_refused", detail)


def retry_after_s(headers: Mapping[str, str], at: datetime) -> float | None:
    """Seconds the host asks to wait (0 to 3600), from Retry-After as seconds or as a date."""
    raw = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", raw):
        return min(float(raw), _LONGEST_WAIT_S)
    try:
        wait = (parsedate_to_datetime(raw) - at).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, 0.0), _LONGEST_WAIT_S)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without the given secrets, and without anything that looks like a key."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    return _KEY_LIKE.sub("[key]", clean_text(text))


class StreamReader:
    """The body of an answer as it comes in: `feed` gives the words of each piece, `end` the whole."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._events = EventReader(_from_error_object)
        self._body: list[bytes] = []
        self._is_stream: bool | None = None

    @property
    def has_begun(self) -> bool:
        """Whether anything of an answer has come."""
        return self._is_stream is not None

    @property
    def is_over(self) -> bool:
        """Whether the host has said why the answer ends; only token counts may follow."""
        return self._events.pieces.is_over

    @property
    def is_done(self) -> bool:
        """Whether nothing follows at all."""
        return self._events.pieces.is_done

    def feed(self, data: bytes) -> str:
        """The words in the next bytes. LlmError for an error object among them."""
        if self._is_stream is None:
            self._body.append(data)
            data = b"".join(self._body).lstrip(b"\xef\xbb\xbf \t\r\n")
            if not data:
                return ""
            self._is_stream = data[:1] in b"de:ir"  # data, event, a comment, id, retry
            self._body = []
        if not self._is_stream:
            self._body.append(data)
            return ""
        return "".join([self._events.line(line) for line in self._lines.feed(data)])

    def end(self) -> tuple[str, Completion]:
        """The words that were still missing, and the completion. LlmError as `read_body`."""
        if not self._is_stream:
            found = read_body(b"".join(self._body).decode("utf-8", "replace"))
            return found.text, found
        rest = "".join([self._events.line(line) for line in self._lines.feed(b"", is_last=True)])
        rest += self._events.pieces.end()
        if not (self._events.pieces.n_events or self.is_done):
            raise LlmError("llm_refused", "It answered 200 with no event of a chat completion.")
        # Without an end mark it counts as cut.
        found = self.so_far("stop" if self.is_done else "length")
        return rest + found.text[len("".join(self._events.pieces.words)) :], found

    def so_far(self, finish: str = "") -> Completion:
        """What has come by now; `finish` where the host gave no reason yet."""
        pieces = self._events.pieces
        finish = finish_reason(pieces.finish) or finish
        text, refusal = "".join(pieces.words), clean_text("".join(pieces.refusal))
        if refusal and not text.strip():
            text, finish = refusal, finish if finish == "length" else "content_filter"
        return Completion(
            text,
            finish,
            _word(pieces.model, 200),
            _count(pieces.usage.get("prompt_tokens")),
            _count(pieces.usage.get("completion_tokens")),
            pieces.calls(),
        )


def _from_stream(text: str) -> Completion:
    """A whole stream that nobody asked for."""
    reader = StreamReader()
    reader.feed(text.encode("utf-8", "replace"))
    return reader.end()[1]


def _from_error_object(error: Any) -> LlmError:
    code = error.get("code") if isinstance(error, dict) else None
    detail = redact(_message(json.dumps({"error": error})))
    if re.fullmatch(r"408|429|5[0-9]{2}", str(code)):
        return LlmError("llm_overloaded", detail)
    return LlmError("content_filter" if "content_filter" in str(code) else "llm_refused", detail)


def _message(body: str) -> str:
    """A short sentence out of an error body."""
    try:
        data = json.loads(body[:100_000])
    except (ValueError, RecursionError):
        data = None
    error = data.get("error", data.get("detail", data.get("message"))) if isinstance(data, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error.get("code")
    words = error if isinstance(error, str) else re.sub(r"<[^<>]*>", " ", body[:2000])
    return redact(" ".join(words.split()))[:_LONGEST_DETAIL]


def _not_a_completion(text: str) -> str:
    is_html = text[:200].lstrip().lower().startswith(("<!doctype", "<html"))
    kind = "an HTML page" if is_html else "something else"
    return f"It answered 200 with {kind}, not a chat completion; check LLM_BASE_URL."


def _word(raw: Any, limit: int) -> str:
    return clean_text(raw)[:limit] if isinstance(raw, str) else ""


def _count(raw: Any) -> int | None:
    is_whole = isinstance(raw, int) and not isinstance(raw, bool)
    return raw if is_whole and 0 <= raw <= 2_000_000_000 else None
