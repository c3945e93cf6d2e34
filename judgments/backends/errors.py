"""What a host's error says, in one word and a short text, from every public shape of error body. Pure.

`{"error": "…"}`, `{"error": {"message"}}`, `{"message"}`, `{"detail": "…"}`, `{"detail": {"message"}}`,
`{"detail": [{"loc", "msg"}]}` and plain text are read; a page of HTML is not quoted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from judgments import strict_json
from judgments.backends.types import MAX_TEXT_CHARS, Failure
from synth.llm.completion import redact

_OVERLOADED = frozenset({408, 429})
_LONGEST_WAIT_S = 3600.0


def from_status(
    status: int, headers: Mapping[str, str], content: bytes, *, key: str, at: datetime
) -> Failure:
    """The Failure a 4xx or 5xx stands for; `at` is now, for a Retry-After that is a date."""
    word = "overloaded" if status in _OVERLOADED or status >= 500 else "refused"
    text = text_of(content)
    said = cleaned(f"{status}: {text}" if text else f"Status {status}.", key)
    return Failure(word, said, status=status, retry_after_s=retry_after_s(headers, at))


def text_of(content: bytes) -> str:
    """The message inside an error body, '' where it has none."""
    try:
        return _message(strict_json.loads(content))
    except strict_json.BadJson:
        text = content[:2_000].decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text


def cleaned(text: str, key: str) -> str:
    """One line of at most 200 characters, without the key or anything that looks like one."""
    # The key goes first: cut to length, half of it could stay.
    safe = redact(text, [key])
    line = " ".join("".join(char if char.isprintable() else " " for char in safe).split())
    return line[:MAX_TEXT_CHARS]


def retry_after_s(headers: Mapping[str, str], at: datetime) -> float | None:
    """Seconds the host asks to wait: Retry-After-Ms, or Retry-After in seconds or as a date; 0 … 3,600."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        typed = (headers.get(name) or "").strip()
        if not typed:
            continue
        try:
            seconds = float(typed) * scale
        except ValueError:
            seconds = _until(typed, at)
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), _LONGEST_WAIT_S)
    return None


def _until(typed: str, at: datetime) -> float:
    try:
        when = parsedate_to_datetime(typed)
    except (TypeError, ValueError):
        return math.nan
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - at).total_seconds()


def _message(body: Any) -> str:
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping):
        return ""
    for name in ("error", "detail", "message"):
        found = body.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, Mapping) and (inner := _message(found)):
            return inner
        if isinstance(found, list) and (inner := "; ".join(filter(None, map(_entry, found[:3])))):
            return inner
    return ""


def _entry(item: Any) -> str:
    """One entry of `detail[]`: where and what."""
    if isinstance(item, str):
        return item
    if not isinstance(item, Mapping) or not isinstance(item.get("msg"), str):
        return ""
    loc = item.get("loc")
    where = ".".join(str(step) for step in loc if step != "body") if isinstance(loc, list) else ""
    return f"{where}: {item['msg']}" if where else str(item["msg"])
