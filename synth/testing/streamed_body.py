"""The scripted host's replies as a stream of events, with everything that goes wrong in streams.

A request with `stream: true` gets one. Besides the host's own keys a reply may have `token_s` (seconds before
each piece of text) and `stream`: False for one plain body all the same, or a dict with any of `newline`
(`"\\r\\n"`), `blank` (False: no blank line between events), `comments` (True: one before each event), `done`
(False: no end mark), `finish` (False: no finish reason), `error_after` (an error object after so many
events), `hang_after` (silence after so many events), `cut_after` (the connection ends in the middle of that
event), `reset_after` (the same, by RST), `split` (bytes a write), `pieces` (the text as it is to be cut).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from synth.llm.scripted import completion_body

_WORDS = re.compile(r"\s*\S+|\s+$")


def is_wanted(reply: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether this reply goes out as a stream."""
    is_plain = "raw" in reply or "body" in reply or reply.get("status", 200) != 200
    return bool(request.get("stream")) and not is_plain and reply.get("stream") is not False


def how_of(reply: dict[str, Any]) -> dict[str, Any]:
    """What the reply says about its stream."""
    how = reply.get("stream")
    return how if isinstance(how, dict) else {}


def events(reply: dict[str, Any], request: dict[str, Any]) -> Iterator[tuple[bytes, bool]]:
    """(bytes, has text) of each event."""
    how = how_of(reply)
    newline = how.get("newline", "\n")
    after = newline * (1 if how.get("blank") is False else 2)
    for n, (data, is_text) in enumerate(_data(reply, request)):
        if n == how.get("error_after"):
            data = json.dumps({"error": {"message": "the host broke", "code": 500}})
        comment = f": still here{newline}{newline}" if how.get("comments") else ""
        yield f"{comment}data: {data}{after}".encode("utf-8", "surrogatepass"), is_text


def _data(reply: dict[str, Any], request: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    how = how_of(reply)
    body = completion_body(reply)
    choice = body["choices"][0]
    message = choice["message"]
    yield _chunk(body, {"role": "assistant", "content": ""}), False
    for piece in how.get("pieces") or _WORDS.findall(message.get("content") or ""):
        yield _chunk(body, {"content": piece}), True
    for n, call in enumerate(message.get("tool_calls", [])):
        for part in _parts(call, n):
            yield _chunk(body, {"tool_calls": [part]}), True
    if how.get("finish") is not False:
        yield _chunk(body, {}, choice["finish_reason"]), False
    if (request.get("stream_options") or {}).get("include_usage"):
        yield json.dumps({**_head(body), "choices": [], "usage": body["usage"]}), False
    if how.get("done") is not False:
        yield "[DONE]", False


def _parts(call: dict[str, Any], n: int) -> Iterator[dict[str, Any]]:
    """One call: its id and name first, then its arguments a few characters at a time."""
    function = call["function"]
    yield {
        "index": n, "id": call["id"], "type": "function",
        "function": {"name": function["name"], "arguments": ""},
    }  # fmt: skip
    text = function["arguments"]
    for at in range(0, len(text), 5):
        yield {"index": n, "function": {"arguments": text[at : at + 5]}}


def _chunk(body: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({**_head(body), "choices": [choice]})


def _head(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": body["id"], "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
