"""The one door to language models: `complete`, `complete_json`, `ask_json`, and what they take and raise.

Names are looked up on first use, so the pure modules below (`tolerant`, `walk`, `completion`) can be imported
without Django, and no process loads the SDK before its first call.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.llm.asking import Attempt, JsonReply, ask_json, complete_json, stricter
    from synth.llm.door import complete
    from synth.llm.hosts import is_configured
    from synth.llm.messages import Message, Reply, Request, ToolCall
    from synth.llm.reasons import REASONS, LlmError
    from synth.llm.sink import Sink

_HOMES = {
    "Attempt": "asking",
    "JsonReply": "asking",
    "ask_json": "asking",
    "complete_json": "asking",
    "stricter": "asking",
    "complete": "door",
    "is_configured": "hosts",
    "Message": "messages",
    "Reply": "messages",
    "Request": "messages",
    "ToolCall": "messages",
    "REASONS": "reasons",
    "LlmError": "reasons",
    "Sink": "sink",
}

__all__ = [
    "REASONS",
    "Attempt",
    "JsonReply",
    "LlmError",
    "Message",
    "Reply",
    "Request",
    "Sink",
    "ToolCall",
    "ask_json",
    "complete",
    "complete_json",
    "is_configured",
    "stricter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
