"""A request is handed to Django's threads with its whole body, or not at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.conf import LazySettings

from synth.api import whole_bodies
from synth.api.whole_bodies import with_whole_bodies

GONE = {"type": "http.disconnect"}


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def handed(*messages: dict[str, Any], headers: Any = ()) -> tuple[list[Any], list[Any]]:
    """What the application behind was given (its scope and first message), and what was sent by the door."""
    seen: list[Any] = []
    sent: list[Any] = []
    waiting = list(messages)

    async def receive() -> Any:
        if waiting:
            return waiting.pop(0)
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([scope, await receive()])

    async def one() -> None:
        await with_whole_bodies(application)(
            {"type": "http", "path": "/", "headers": list(headers)}, receive, send
        )

    asyncio.run(one())
    return seen, sent


def test_a_body_in_pieces_arrives_as_one() -> None:
    seen, sent = handed(part(b"ab"), part(b"c", more=False))
    assert (seen[1], sent) == (part(b"abc", more=False), [])


def test_a_body_that_does_not_end_is_408_and_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_bodies, "LONGEST_S", 0.05)
    seen, sent = handed(part(b'{"content":'))
    assert seen == []
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "too_slow"


def test_half_a_body_is_not_acted_on_when_its_sender_goes() -> None:
    assert handed(part(b'{"content": "a"}'), GONE) == ([], [])


def test_no_more_is_read_than_tells_that_it_is_too_large(settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 4
    seen, _ = handed(part(b"abc"), part(b"defgh"))
    assert seen[1]["body"] == b"abcde"


def test_a_header_with_an_underscore_is_no_header_of_a_proxy() -> None:
    kept = (b"x-forwarded-for", b"10.0.0.1")
    seen, _ = handed(part(b"", more=False), headers=[kept, (b"x_forwarded_for", b"6.6.6.6")])
    assert seen[0]["headers"] == [kept]
