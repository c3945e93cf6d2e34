"""What a judgment is shown of a long turn: its request, its calls since the last check-in, cut. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

STATE_BYTES = 4_096  # of request and calls together, about
REQUEST_BYTES = 1_000
LEAST_CALL_BYTES = 24


def call_line(action: str, arguments: str, result: str, limit: int) -> str:
    """`action arguments -> result` within `limit` bytes; a third of the room is for the arguments."""
    head = cut(" ".join(f"{action} {arguments}".split()), max(limit // 3, LEAST_CALL_BYTES // 2))
    return cut(f"{head} -> {' '.join(result.split())}", limit)


def state(
    request: str, calls: Sequence[tuple[str, str, str]], *, n_calls: int, elapsed_s: float
) -> dict[str, Any]:
    """The state of `check-in.progress`; `calls` are (action, arguments, result), oldest first."""
    asked = cut(request, REQUEST_BYTES)
    room = STATE_BYTES - len(asked.encode())
    each = max(LEAST_CALL_BYTES, room // max(1, len(calls)))
    lines: Iterable[str] = (call_line(*call, each) for call in calls)
    return {"request": asked, "calls": list(lines), "n_calls": n_calls, "elapsed_s": round(elapsed_s)}


def cut(text: str, limit: int) -> str:
    """The first `limit` bytes of a text, whole characters only."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else raw[: max(0, limit - 3)].decode("utf-8", "ignore") + "…"
