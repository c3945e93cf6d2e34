"""Replies from a file instead of a model: `LLM_BASE_URL=scripted:PATH`, for tests and demos.

The file has one JSON value a line: a string (the content) or an object with any of `content`, `tool_calls`
(`[{name, arguments}]`), `finish_reason`, `message` (extra fields of the message), `status`, `body`, `raw`,
`purpose`, `token_s`. Lines are used in order and then again from the start; a line with a `purpose` answers
only calls of that purpose. Each process counts for itself.
"""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

from django.utils.timezone import now

from synth.llm.completion import Completion, error_of_status, read_body
from synth.llm.reasons import LlmError
from synth.llm.sink import Sink

PREFIX = "scripted:"
_used: dict[tuple[str, str], int] = {}
_lock = threading.Lock()


def send(path: str, purpose: str, sink: Sink | None = None) -> Completion:
    """The next reply of the file for this purpose; LlmError as it says, or when the file cannot be read.

    A `sink` gets it word by word, each after `token_s` seconds.
    """
    reply = _next(path, purpose)
    completion = _completion(reply)
    return completion if sink is None else _spoken(completion, float(reply.get("token_s", 0)), sink)


def _spoken(completion: Completion, pause_s: float, sink: Sink) -> Completion:
    said = ""
    is_stopped = threading.Event()
    with sink.connected(is_stopped.set):
        for word in re.findall(r"\s*\S+|\s+$", completion.text):
            if is_stopped.wait(pause_s):
                raise LlmError("stopped", partial=Completion(said, "", completion.model))
            said += word
            sink.text(word)
    return completion


def _completion(reply: dict[str, Any]) -> Completion:
    status = reply.get("status", 200)
    raw = reply.get("raw")
    body = raw if isinstance(raw, str) else json.dumps(completion_body(reply))
    if status != 200:
        raise error_of_status(status, reply.get("headers", {}), body, now())
    return read_body(body)


def completion_body(reply: dict[str, Any], model: str = "scripted") -> dict[str, Any]:
    """The chat completion that a reply stands for; its `body`, where given, is used as it is."""
    if "body" in reply:
        return dict(reply["body"])
    if reply.get("status", 200) != 200:
        return {"error": {"message": reply.get("content") or "scripted error", "code": reply["status"]}}
    message = {"role": "assistant", "content": reply.get("content", ""), **reply.get("message", {})}
    finish = "stop"
    if "tool_calls" in reply:
        message["tool_calls"] = [_tool_call(call, n) for n, call in enumerate(reply["tool_calls"], 1)]
        finish = "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reply.get("finish_reason", finish)}
    usage = reply.get("usage", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": reply.get("model", model),
        "choices": [choice],
        "usage": usage,
    }


def _tool_call(call: dict[str, Any], n: int) -> dict[str, Any]:
    """A call as hosts write it; `arguments` may be an object, or the text itself."""
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": call["name"], "arguments": text}
    return {"id": call.get("id", f"call_{n}"), "type": "function", "function": function}


def as_reply(raw: Any) -> dict[str, Any]:
    """A reply as an object; a bare string is its content."""
    return raw if isinstance(raw, dict) else {"content": str(raw)}


def read_file(path: str) -> list[dict[str, Any]]:
    """Every reply of a JSONL file. OSError or ValueError when it cannot be read."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [as_reply(json.loads(line)) for line in lines if line.strip()]


def _next(path: str, purpose: str) -> dict[str, Any]:
    try:
        replies = [r for r in read_file(path) if r.get("purpose", purpose) == purpose]
    except (OSError, ValueError) as error:
        kind = type(error).__name__
        raise LlmError("llm_unreachable", f"The file of replies cannot be read ({kind}).") from None
    if not replies:
        raise LlmError("llm_unreachable", f"The file of replies has none for {purpose}.")
    with _lock:
        n = _used.get((path, purpose), 0)
        _used[path, purpose] = n + 1
    return replies[n % len(replies)]
