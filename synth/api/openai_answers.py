"""What the front does with a turn that came through the OpenAI door."""

from __future__ import annotations

import json
from typing import Any

from synth.api import answers, endings, streaming
from synth.api.handoff import Handed, serves
from synth.chat import events
from synth.chat.events import Event
from synth.openai import chunks
from synth.openai.chunks import Teller
from synth.openai.style import OpenAiStyle

RETRY_AFTER_S = 30


def _style(handed: Handed) -> OpenAiStyle:
    data = handed.data
    return OpenAiStyle(Teller(data["answer"], data["model"], data["created"], data["wants_usage"]))


@serves("openai-sse")
async def openai_sse(handed: Handed) -> None:
    """Stream the answer in chunks; its client's going ends it."""
    await answers.stream_answer(handed, handed.data["answer"], _style(handed))


@serves("openai-json")
async def openai_json(handed: Handed) -> None:
    """Wait for the answer and tell it whole; its client's going ends it."""
    style = _style(handed)
    last: Event | None = None
    async with streaming.waiting(handed) as stream:
        async with answers.viewing(stream, handed.data["answer"], style) as seat:
            async for last in answers.told(stream, seat):
                style.frames(last)  # the teller keeps the words
        status, said = _whole(style.teller, last)
        wait = [(b"retry-after", str(RETRY_AFTER_S).encode())] if status in (429, 503) else []
        await handed.answer(status, json.dumps(said, ensure_ascii=False).encode(), *wait)


def _whole(teller: Teller, last: Event | None) -> tuple[int, dict[str, Any]]:
    """Status and body of an answer that ended with this event."""
    if last is not None and last.name == events.END:
        data = last.data
        return 200, chunks.completion(teller.answer_id, teller.model, teller.created, data, teller.text)
    if last is not None and last.name == events.ERROR:
        code = str(last.data.get("code", ""))
        status = endings.status_of(code)
        return status, {"error": chunks.refusal(status, str(last.data.get("message", "")), code)}
    return 503, {"error": chunks.refusal(503, answers.STOPPING, "unavailable")}
