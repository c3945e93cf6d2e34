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
from synth.llm.tolerant import clean_text
from synth.llm.toolcalls import CallPieces, read_calls

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
    words = _content(message.get("content")) or _content(choice.get("text"))
    finish = finish_reason(choice.get("finish_reason"))
    if refusal := _content(message.get("refusal")):
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


def _from_stream(text: str) -> Completion:
    """A whole SSE body put together; without an end mark it counts as cut."""
    words: list[str] = []
    pieces = CallPieces()
    finish, model, is_done = "", "", False
    for line in text.splitlines():
        data = line[5:].strip() if line.startswith("data:") else ""
        is_done = is_done or data == "[DONE]"
        try:
            event = json.loads(data) if data.startswith("{") else {}
        except (ValueError, RecursionError):
            event = {}
        if event.get("error"):
            raise _from_error_object(event["error"])
        model = model or _word(event.get("model"), 200)
        choices = event.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else []:
            if not isinstance(choice, dict):
                continue
            delta = choice.get("delta") or choice.get("message")
            delta = delta if isinstance(delta, dict) else {}
            words.append(_content(delta.get("content")))
            pieces.add(delta)
            finish = finish_reason(choice.get("finish_reason")) or finish
    finish = finish or ("stop" if is_done else "length")
    return Completion(clean_text("".join(words)), finish, model, tool_calls=pieces.calls())


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


def _content(raw: Any) -> str:
    """Text of a content field: a string, or the text parts of a list. Anything else is no text."""
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        return ""
    texts = [item.get("text") if isinstance(item, dict) else item for item in raw]
    return "".join(text for text in texts if isinstance(text, str))


def _word(raw: Any, limit: int) -> str:
    return clean_text(raw)[:limit] if isinstance(raw, str) else ""


def _count(raw: Any) -> int | None:
    is_whole = isinstance(raw, int) and not isinstance(raw, bool)
    return raw if is_whole and 0 <= raw <= 2_000_000_000 else None
