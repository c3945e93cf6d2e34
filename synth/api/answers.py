"""What the front does with a turn: streams its answer to a viewer, or waits for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.exceptions import RedisError

from synth.api import streaming
from synth.api.handoff import Handed, serves
from synth.api.streaming import Gone, Stream
from synth.chat import events, looks
from synth.chat.events import Event
from synth.chat.hub import Seat, hub
from synth.chat.sse import ChatStyle, Style

PENDING = "pending"
STOPPING = "The server is about to restart; ask again with the same Idempotency-Key."
RETRY_AFTER_S = 2


@serves("chat-sse")
async def chat_sse(handed: Handed) -> None:
    """The events of the answer `answer` after number `since`. 204 where all of them were told before."""
    answer, since, is_over = handed.data["answer"], handed.data["since"], handed.data["is_over"]
    if is_over and since and await _is_told(answer, since):
        await handed.answer(204, b"")
        return
    await stream_answer(handed, answer, ChatStyle(answer), since=since, is_over=is_over)


@serves("chat-json")
async def chat_json(handed: Handed) -> None:
    """Wait until the answer has ended or a person is asked; then Django says how it is.

    Who waits is no viewer: hanging up ends nothing.
    """
    answer = handed.data["answer"]
    async with streaming.waiting(handed) as stream, hub().seat(answer, stream.wake, is_viewer=False) as seat:
        await wait(stream, seat)
        if stream.is_over and not seat.is_done:
            await handed.refuse(503, STOPPING, retry_after_s=RETRY_AFTER_S, message_id=answer)
            return
    if not stream.is_gone:
        await handed.again(f"/api/chat/{answer}/")


async def stream_answer(
    handed: Handed, answer: int, style: Style, *, since: int = 0, is_over: bool = False
) -> None:
    """Stream an answer in this style to one viewer until its end, or the viewer's.

    Is the viewer the last, the turn is stopped soon after it went.
    """
    async with streaming.opened(handed) as stream:
        if stream.is_over:
            return
        if style.opening:
            await stream.put(style.opening)
        async with viewing(stream, answer, style, since=since, is_over=is_over) as seat:
            async for event in told(stream, seat, style.heartbeat):
                for frame in style.frames(event):
                    await stream.put(frame)
            if style.interrupted and not seat.is_done:
                await stream.put(style.interrupted)


@asynccontextmanager
async def viewing(
    stream: Stream, answer: int, style: Style, *, since: int = 0, is_over: bool = False
) -> AsyncIterator[Seat]:
    """A viewer's seat. When its client goes, that is noted, and Gone goes on."""
    async with hub().seat(answer, stream.wake, n=since, is_over=is_over) as seat:
        try:
            yield seat
        except Gone:
            hub().left(seat, wait_s=style.leave_s, reason=style.reason)
            raise


async def told(stream: Stream, seat: Seat, heartbeat: bytes = b"") -> AsyncIterator[Event]:
    """The events of an answer as they come, up to its end, or until the server ends the stream.

    Gone when the client goes. `heartbeat` is sent when nothing comes for a while.
    """
    while not seat.is_done and not stream.is_over:
        found = await seat.next()
        for event in found:
            yield event
        if not found and not seat.is_done:
            await stream.rest(heartbeat)


async def wait(stream: Stream, seat: Seat) -> None:
    """Until the answer has ended, a person is being asked, or the server ends the wait. Gone as `told`."""
    asked: set[str] = set()
    while not seat.is_done and not stream.is_over:
        found = await seat.next()
        for event in found:
            if event.name == events.APPROVAL:
                approval = event.data.get("approval", {})
                change = asked.add if approval.get("status") == PENDING else asked.discard
                change(str(approval.get("id")))
        if not found and not seat.is_done:
            if asked or seat.room.is_asked:
                return
            await stream.rest()


async def _is_told(answer: int, since: int) -> bool:
    """Whether the client has the end. Words that a late worker told after it are for nobody."""
    if since >= looks.LAST_N:
        return True
    try:
        found = await hub().reader.at(answer, since)
    except (RedisError, OSError):
        return False
    return found is not None and found.is_terminal
